# SPDX-License-Identifier: Apache-2.0
"""Part of tf.nn: losses over a few sampled classes of many, and the samplers."""
from . import array as A
from . import graph as G
from .dtypes import int64
from .op_gen import gen
from .tensor_util import convert_to_tensor


# --- samplers -----------------------------------------------------------------------------------------------------------------------------
def _sampler(op):
    def sample(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
        seed1, seed2 = G.get_seed(seed)
        return getattr(gen, op)(true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max, seed=seed1 or 0,
                                seed2=seed2 or 0, name=name)
    return sample


log_uniform_candidate_sampler = _sampler("LogUniformCandidateSampler")
uniform_candidate_sampler = _sampler("UniformCandidateSampler")
learned_unigram_candidate_sampler = _sampler("LearnedUnigramCandidateSampler")


def fixed_unigram_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, vocab_file="", distortion=1.0, num_reserved_ids=0,
                                    num_shards=1, shard=0, unigrams=(), seed=None, name=None):
    seed1, seed2 = G.get_seed(seed)
    return gen.FixedUnigramCandidateSampler(true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max,
                                            vocab_file=vocab_file, distortion=distortion, num_reserved_ids=num_reserved_ids, num_shards=num_shards,
                                            shard=shard, unigrams=list(unigrams), seed=seed1 or 0, seed2=seed2 or 0, name=name)


def all_candidate_sampler(true_classes, num_true, num_sampled, unique, seed=None, name=None):
    seed1, seed2 = G.get_seed(seed)
    return gen.AllCandidateSampler(true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique, seed=seed1 or 0, seed2=seed2 or 0, name=name)


def compute_accidental_hits(true_classes, sampled_candidates, num_true, seed=None, name=None):
    seed1, seed2 = G.get_seed(seed)
    return gen.ComputeAccidentalHits(true_classes, sampled_candidates, num_true=num_true, seed=seed1 or 0, seed2=seed2 or 0, name=name)


# --- losses --------------------------------------------------------------------------------------------------------------------------------


def _sum_rows(x):
    """Sums along rows, as a product with ones: keeps gradients and half precision as TensorFlow's."""
    columns = A.shape(x)[1]
    ones = A.ones(A.stack([columns, 1]), x.dtype)
    return gen.Reshape(gen.MatMul(x, ones), [-1])


def _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, subtract_log_q, remove_accidental_hits,
            partition_strategy, name, seed):
    """(logits, labels) of the true classes, then of the sampled ones."""
    from .nn import embedding_lookup
    weights = list(weights) if isinstance(weights, (list, tuple)) else [weights]
    with G.name_scope(name, "compute_sampled_logits", weights + [biases, inputs, labels]):
        labels = convert_to_tensor(labels)
        if labels.dtype != int64:
            labels = gen.Cast(labels, int64)
        flat = gen.Reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed=seed)
        sampled, true_expected, sampled_expected = (gen.StopGradient(v) for v in sampled_values)
        sampled = gen.Cast(sampled, int64) if sampled.dtype != int64 else sampled
        ids = A.concat([flat, sampled], 0)
        all_w = embedding_lookup(weights, ids, partition_strategy=partition_strategy)
        all_w = gen.Cast(all_w, inputs.dtype) if all_w.dtype != inputs.dtype else all_w
        true_w = gen.Slice(all_w, [0, 0], A.stack([A.shape(flat)[0], -1]))
        sampled_w = gen.Slice(all_w, A.stack([A.shape(flat)[0], 0]), [-1, -1])
        sampled_logits = gen.MatMul(inputs, sampled_w, transpose_b=True)
        all_b = embedding_lookup(biases, ids, partition_strategy=partition_strategy)
        all_b = gen.Cast(all_b, inputs.dtype) if all_b.dtype != inputs.dtype else all_b
        true_b = gen.Slice(all_b, [0], A.shape(flat))
        sampled_b = gen.Slice(all_b, A.shape(flat), [-1])
        size = A.shape(true_w)[1:2]
        shape = A.concat([[-1, num_true], size], 0)
        products = gen.Mul(gen.ExpandDims(inputs, 1), gen.Reshape(true_w, shape), name="Mul")
        true_logits = gen.Reshape(_sum_rows(gen.Reshape(products, A.concat([[-1], size], 0))), [-1, num_true])
        true_logits = true_logits + gen.Reshape(true_b, [-1, num_true])
        sampled_logits = sampled_logits + sampled_b
        if remove_accidental_hits:
            sampled_logits = sampled_logits + _hits(labels, sampled, num_true, num_sampled, sampled_logits)
        if subtract_log_q:
            true_logits = true_logits - gen.Log(true_expected)
            sampled_logits = sampled_logits - gen.Log(sampled_expected)
        out = A.concat([true_logits, sampled_logits], 1)
        wanted = A.concat([A.ones_like(true_logits) / num_true, A.zeros_like(sampled_logits)], 1)
        return out, wanted


def _hits(labels, sampled, num_true, num_sampled, logits):
    """Very negative where a sampled class is the true one of that row."""
    hits = compute_accidental_hits(labels, sampled, num_true=num_true)
    rows, columns, values = hits[0], gen.Cast(hits[1], "int32"), hits[2]
    places = A.concat([gen.Reshape(rows, [-1, 1]), gen.Reshape(columns, [-1, 1])], 1, name="sparse_indices")
    shape = A.concat([A.shape(labels)[:1], gen.ExpandDims(num_sampled, 0)], 0)
    values = gen.Cast(values, logits.dtype) if values.dtype != logits.dtype else values
    return gen.SparseToDense(places, shape, values, 0.0, validate_indices=False)


def nce_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None, remove_accidental_hits=False,
             partition_strategy="mod", name="nce_loss"):
    """Noise-contrastive estimation: tells each row's true classes from sampled ones by logistic regression."""
    from .nn import sigmoid_cross_entropy_with_logits
    logits, wanted = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True, remove_accidental_hits,
                             partition_strategy, name, None)
    return _sum_rows(sigmoid_cross_entropy_with_logits(labels=wanted, logits=logits, name="sampled_losses"))


def sampled_softmax_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None, remove_accidental_hits=True,
                         partition_strategy="mod", name="sampled_softmax_loss", seed=None):
    from .nn import softmax_cross_entropy_with_logits_v2
    logits, wanted = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True, remove_accidental_hits,
                             partition_strategy, name, seed)
    return softmax_cross_entropy_with_logits_v2(labels=gen.StopGradient(wanted, name="labels_stop_gradient"), logits=logits)
