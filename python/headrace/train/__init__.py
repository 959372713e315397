# SPDX-License-Identifier: Apache-2.0
"""tf.train: each name lives in a module of this folder (or beside it) that loads when the name is first used."""

_NAMES = {
    "optimizer": "Optimizer",
    "optimizers": "GradientDescentOptimizer MomentumOptimizer AdagradOptimizer RMSPropOptimizer AdamOptimizer AdadeltaOptimizer "
                  "FtrlOptimizer ProximalGradientDescentOptimizer ProximalAdagradOptimizer",
    "decay": "exponential_decay piecewise_constant polynomial_decay natural_exp_decay inverse_time_decay cosine_decay cosine_decay_restarts "
             "linear_cosine_decay piecewise_constant_decay=piecewise_constant",
    "moving_averages": "ExponentialMovingAverage assign_moving_average",
    "steps": "get_global_step create_global_step get_or_create_global_step assert_global_step global_step",
    "checkpoints": "latest_checkpoint get_checkpoint_state update_checkpoint_state generate_checkpoint_state_proto checkpoint_exists "
                   "get_checkpoint_mtimes remove_checkpoint list_variables load_variable load_checkpoint NewCheckpointReader CheckpointReader",
    "export": "write_graph export_meta_graph import_meta_graph",
    "queue_runners": "Coordinator QueueRunner add_queue_runner start_queue_runners",
    "cluster": "ClusterSpec Server replica_device_setter",
    "hooks": "SessionRunHook SessionRunArgs SessionRunContext SessionRunValues StopAtStepHook CheckpointSaverHook CheckpointSaverListener "
             "StepCounterHook SummarySaverHook LoggingTensorHook NanTensorHook NanLossDuringTrainingError FinalOpsHook GlobalStepWaiterHook "
             "FeedFnHook SecondOrStepTimer ProfilerHook",
    "session_manager": "SessionManager",
    "monitored": "Scaffold ChiefSessionCreator WorkerSessionCreator SessionCreator MonitoredSession SingularMonitoredSession "
                 "MonitoredTrainingSession",
    "supervisor": "Supervisor LooperThread",
    "input": "batch batch_join shuffle_batch shuffle_batch_join maybe_batch maybe_shuffle_batch string_input_producer range_input_producer "
             "slice_input_producer input_producer limit_epochs match_filenames_once",
    "basic_loops": "basic_train_loop",
    "checkpoint_init": "init_from_checkpoint checkpoints_iterator",
}
_MESSAGES = frozenset("Example SequenceExample Features Feature FeatureList FeatureLists BytesList FloatList Int64List SaverDef CheckpointState "
                      "ClusterDef JobDef ServerDef".split())


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    from importlib import import_module
    if name == "Saver":
        from ..saver import Saver as found
    elif name == "summary_iterator":
        from ..summary import summary_iterator as found
    elif name in _MESSAGES:
        from ..protos import message
        found = message(name)
    else:
        for module, names in _NAMES.items():
            row = dict(item.partition("=")[::2] for item in names.split())
            if name in row:
                found = getattr(import_module("." + module, __name__), row[name] or name)
                break
        else:
            raise AttributeError("module 'tensorflow.train' has no attribute %r in headrace" % name)
    globals()[name] = found
    return found


def __dir__():
    names = set(globals()) | _MESSAGES | {"Saver"}
    for row in _NAMES.values():
        names.update(item.partition("=")[0] for item in row.split())
    return sorted(names)
