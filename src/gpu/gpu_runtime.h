// The GPU runtime of this build: CUDA, or HIP under CUDA's names (NEARFAR_HIP). It maps only the functions that src/ uses.
#pragma once

#ifndef NEARFAR_HIP

#include <cuda_runtime_api.h>

#else

#include <hip/hip_runtime_api.h>

using cudaDeviceAttr = hipDeviceAttribute_t;
using cudaError_t = hipError_t;
using cudaEvent_t = hipEvent_t;
using cudaFuncAttributes = hipFuncAttributes;
using cudaMemcpyKind = hipMemcpyKind;
using cudaStream_t = hipStream_t;

#define CUDART_VERSION (HIP_VERSION_MAJOR * 1000 + HIP_VERSION_MINOR * 10)

#define cudaDeviceCanAccessPeer hipDeviceCanAccessPeer
#define cudaDeviceDisablePeerAccess hipDeviceDisablePeerAccess
#define cudaDeviceEnablePeerAccess hipDeviceEnablePeerAccess
#define cudaDeviceGetAttribute hipDeviceGetAttribute
#define cudaDeviceGetPCIBusId hipDeviceGetPCIBusId
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaEventCreateWithFlags hipEventCreateWithFlags
#define cudaEventDestroy hipEventDestroy
#define cudaEventElapsedTime hipEventElapsedTime
#define cudaEventQuery hipEventQuery
#define cudaEventRecord hipEventRecord
#define cudaEventSynchronize hipEventSynchronize
#define cudaFree hipFree
#define cudaFreeHost hipHostFree
#define cudaGetDevice hipGetDevice
#define cudaGetDeviceCount hipGetDeviceCount
#define cudaGetErrorString hipGetErrorString
#define cudaGetLastError hipGetLastError
#define cudaHostAlloc hipHostMalloc
#define cudaHostGetDevicePointer hipHostGetDevicePointer
#define cudaHostRegister hipHostRegister
#define cudaHostUnregister hipHostUnregister
#define cudaMalloc hipMalloc
#define cudaMemGetInfo hipMemGetInfo
#define cudaMemcpy hipMemcpy
#define cudaMemcpyAsync hipMemcpyAsync
#define cudaMemcpyPeerAsync hipMemcpyPeerAsync
#define cudaMemsetAsync hipMemsetAsync
#define cudaRuntimeGetVersion hipRuntimeGetVersion
#define cudaSetDevice hipSetDevice
#define cudaStreamCreateWithFlags hipStreamCreateWithFlags
#define cudaStreamDestroy hipStreamDestroy
#define cudaStreamSynchronize hipStreamSynchronize

#define cudaDevAttrGlobalMemoryBusWidth hipDeviceAttributeMemoryBusWidth
#define cudaDevAttrL2CacheSize hipDeviceAttributeL2CacheSize
#define cudaDevAttrMemoryClockRate hipDeviceAttributeMemoryClockRate
#define cudaDevAttrMultiProcessorCount hipDeviceAttributeMultiprocessorCount
#define cudaEventBlockingSync hipEventBlockingSync
#define cudaHostAllocMapped (hipHostMallocMapped | hipHostMallocCoherent)  // a kernel that runs sees what the host writes
#define cudaHostRegisterMapped hipHostRegisterMapped
#define cudaHostRegisterPortable hipHostRegisterPortable
#define cudaMemcpyDefault hipMemcpyDefault
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaStreamNonBlocking hipStreamNonBlocking

#define cudaErrorECCUncorrectable hipErrorECCNotCorrectable
#define cudaErrorHostMemoryAlreadyRegistered hipErrorHostMemoryAlreadyRegistered
#define cudaErrorHostMemoryNotRegistered hipErrorHostMemoryNotRegistered
#define cudaErrorIllegalAddress hipErrorIllegalAddress
#define cudaErrorInsufficientDriver hipErrorInsufficientDriver
#define cudaErrorInvalidDevice hipErrorInvalidDevice
#define cudaErrorInvalidPtx hipErrorInvalidKernelFile
#define cudaErrorInvalidResourceHandle hipErrorInvalidResourceHandle
#define cudaErrorInvalidValue hipErrorInvalidValue
#define cudaErrorLaunchFailure hipErrorLaunchFailure
#define cudaErrorLaunchTimeout hipErrorLaunchTimeOut
#define cudaErrorMemoryAllocation hipErrorOutOfMemory
#define cudaErrorNoDevice hipErrorNoDevice
#define cudaErrorNoKernelImageForDevice hipErrorNoBinaryForGpu
#define cudaErrorNotReady hipErrorNotReady
#define cudaErrorNotSupported hipErrorNotSupported
#define cudaErrorOperatingSystem hipErrorOperatingSystem
#define cudaErrorPeerAccessAlreadyEnabled hipErrorPeerAccessAlreadyEnabled
#define cudaErrorPeerAccessNotEnabled hipErrorPeerAccessNotEnabled
#define cudaErrorUnknown hipErrorUnknown
#define cudaSuccess hipSuccess

// HIP numbers errors as CUDA does, but has no names for these.
constexpr auto cudaErrorDevicesUnavailable = static_cast<hipError_t>(46);
constexpr auto cudaErrorDeviceAlreadyInUse = static_cast<hipError_t>(216);
constexpr auto cudaErrorNvlinkUncorrectable = static_cast<hipError_t>(220);
constexpr auto cudaErrorJitCompilerNotFound = static_cast<hipError_t>(221);
constexpr auto cudaErrorUnsupportedPtxVersion = static_cast<hipError_t>(222);
constexpr auto cudaErrorTooManyPeers = static_cast<hipError_t>(711);
constexpr auto cudaErrorHardwareStackError = static_cast<hipError_t>(714);
constexpr auto cudaErrorNotPermitted = static_cast<hipError_t>(800);
constexpr auto cudaErrorSystemNotReady = static_cast<hipError_t>(802);
constexpr auto cudaErrorSystemDriverMismatch = static_cast<hipError_t>(803);
constexpr auto cudaErrorCompatNotSupportedOnDevice = static_cast<hipError_t>(804);
constexpr auto cudaErrorMpsConnectionFailed = static_cast<hipError_t>(805);
constexpr auto cudaErrorMpsRpcFailure = static_cast<hipError_t>(806);
constexpr auto cudaErrorMpsServerNotReady = static_cast<hipError_t>(807);
constexpr auto cudaErrorMpsMaxClientsReached = static_cast<hipError_t>(808);
constexpr auto cudaErrorMpsMaxConnectionsReached = static_cast<hipError_t>(809);

#endif
