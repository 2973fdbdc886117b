// The host this process runs on, described like any other device.
#pragma once

#include "tenon/base/error.h"
#include "tenon/machine/device.h"

namespace tenon {

/// What the operating system says about this host's processor and memory: cores, clock and vector
/// width give the peak rates. One node of one device. Rates are upper bounds until calibrated.
Result<Device> probe_local_device();

}  // namespace tenon
