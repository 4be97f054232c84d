"""Names of TensorFlow's tests. The value is None if a test here has the same name in lower case with underscores,
else the reason why there is no counterpart."""
from __future__ import annotations

GRAPHS = "about tracing tf.functions into graphs; callables are pickled here"
STRATEGY = "about variables and strategies of TensorFlow, which its own runtime places"
PARAMETER_SERVERS = "about TensorFlow's parameter servers; Muster's server holds no variables"
INNER = "about a class within TensorFlow's coordinator"

NAMES: dict[str, dict[str, str | None]] = {
    "cluster_coordinator_test": {
        "testBasic": None,
        "testProcessAtLeaseOnce": None,
        "testNotifyBeforeWait": None,
        "testWaitRaiseErrorAfterMarkFailure": None,
        "testPutRaiseError": None,
        "testWaitRaiseError": None,
        "testDoneRaiseError": None,
        "testWaitRaiseErrorAfterCancelClosure": None,
        "testPutRaiseErrorAfterCancelClosure": None,
        "testStateIsRestoredAfterJoinIsCalled": None,
        "testThreadSafey": None,
        "testPutGetWithTag": None,
        "testWorkerIndexDatasetFn": None,
        "testClusterCoordinatorOnlyInitOnce": "there is no strategy that it could belong to: each "
                                              "ClusterCoordinator is a session of its own",
        "testFnReturnNestedValues": None,
        "testFetchingRemoteValueStructure": None,
        "testInputFunction": None,
        "testAsyncScheduleAndJoin": None,
        "testInputFunctionWithMap": GRAPHS,
        "testInputFunctionCreateVariables": STRATEGY,
        "testDatasetsShuffledDifferently": None,
        "testPerWorkerValue": None,
        "testDisallowRemoteValueAsInput": None,
        "testPythonFunctionNotAllowedToSchedule": None,
        "testDatasetPartiallyCreatedOnCoordinator": None,
        "testPassDatasetToCreatePerWorkerDataset": None,
        "testMultipleDatasets": None,
        "testRepeatedIteratorCreation": None,
        "testLimitedClosureQueueSizeBasicTest": None,
        "testLimitedClosureQueueErrorTest": None,
        "testScheduleStartDelayTest": "the server's --start-delay; tested there",
        "testJoinRaiseError": None,
        "testScheduleRaiseError": None,
        "testScheduleRaiseErrorWithMultipleFailure": None,
        "testErrorWillbeCleared": None,
        "testRemoteValueReturnError": None,
        "testInputError": None,
        "testErroredInputNotUsed": None,
        "testCancellation": None,
        "testResourceCanStillbeUsedAfterCancellation": None,
        "testRunNotUsedWithClusterCoordinatorSchedule": STRATEGY,
        "testBasicVariableAssignment": STRATEGY,
        "testRunAndReduce": STRATEGY,
        "testRunAndReduceWithAssignAdd": STRATEGY,
        "testVariableAggregation": STRATEGY,
        "testVariableCaching": STRATEGY,
        "testDistributedDatasetInsidePerWorkerDatasetFn": STRATEGY,
        "testPassDistributedDatasetToCreatePerWorkerDataset": STRATEGY,
        "testDistributeDatasetsFromFunction": STRATEGY,
        "testAsyncScheduleWithDistributedDataset": STRATEGY,
        "testInputFunctionWithMapWithDistributedDataset": STRATEGY,
        "testPerWorkerDistributeDatasetsElementSpec": GRAPHS,
        "testPerWorkerDistributedIteratorTypeSpec": GRAPHS,
        "testPerWorkerDatasetBuild": GRAPHS,
        "testClusterCoordinatorMetrics": "the server counts; its metrics are tested there",
        "testWatchDogTimeout": "the server's --watchdog; tested there",
    },
    "fault_tolerance_test": {
        "testClusterCoordinatorDestroyed": None,
        "testWorkerPreemptionBetweenFunctions": None,
        "testWorkerPreemptionMidstFunction": None,
        "testOneWorkerPreemptionWithCancellation": None,
        "testHandleDatasetCreationFailureWithDatasetFn": None,
        "testHandleDatasetCreationFailureWithDataset": None,
        "testWorkerPreemptionErrorType": "nobody calls a worker directly",
        "testWorkerPreemptionErrorTypeWithPythonFunction": "nobody calls a worker directly",
        "testPSPreemptionErrorType": PARAMETER_SERVERS,
        "testTwoWorkersPreempted": None,
        "testWorkerContinuousFailure": None,
        "testPSFailureWhileRecoveryFromWokerFailure": None,
        "testNumpyFetchedAfterWorkerFailure": None,
        "testTensorGotAfterWorkerFailure": None,
        "testFetchFromPSAfterWorkerFailure": PARAMETER_SERVERS,
        "testClusterStateNotDisrupted": None,
        "testJoinRaisesUnavailableErrorAtPsFailure": None,
        "testScheduleRaisesUnavailableErrorAtPsFailure": None,
        "testWorkerExecutionAfterPsFailureRaisesExpectedError": PARAMETER_SERVERS,
        "testAsyncWaitIsNoOp": STRATEGY,
        "testAllTasksHealthy": "tasks of a cluster are the coordination service's; tested there",
        "testWorkerPreempted": "tasks of a cluster are the coordination service's; tested there",
        "testPSPreempted": "tasks of a cluster are the coordination service's; tested there",
        "testCoordinationServicePreempted": "as above",
    },
    "parameter_server_strategy_v2_test": {
        name: STRATEGY for name in (
            "testVariablePlacement testInteractionWithDeviceScope "
            "testInteractionWithVariableCreatorScope testRunNotUsedWithClusterCoordinator "
            "testReduceNotUsedWithClusterCoordinator testRunUsedWithTestOnlyMode "
            "testDistributeDatasetUsedDirectly testSparselyReadForEmbeddingLookup "
            "testDefaultNoPartition testBasicVariableWithAggregation "
            "testBasicShardedVariableWithAggregation testNonCallableInitialValue "
            "testNumPartitionsLargerThanSize testPartitionToOne testColocateWith "
            "testCustomPartitionAwareInitializer testPartitionWhenLackOfInfo testInvalidPartitioner "
            "testCreateInsideTFFunction testCheckpointRestore testCheckpointRestoreDiffShards "
            "testCheckpointDelayedRestore testCheckpointDelayedRestoreDiffShards "
            "testArbitraryJobName testArbitraryCurrentTaskType testMoreThanOneChief "
            "testLessThanOneWorker testLessThanOnePs").split()
    },
}
