/* SPDX-License-Identifier: Apache-2.0 */
/* TF_TString under the path that some clients include. */
#ifndef TSL_PLATFORM_CTSTRING_INTERNAL_H_
#define TSL_PLATFORM_CTSTRING_INTERNAL_H_
#include "tensorflow/c/tf_tstring.h"
#endif
