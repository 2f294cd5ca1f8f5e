/** Limits of worker connections, as a part of `LIMITS`. */
const KiB = 1024;
const MiB = 1024 * KiB;
const SECOND_MS = 1000;

export const WORKER_LIMITS = Object.freeze({
  /** Maximum size of the first message of a worker, and time until it must be accepted. */
  maxWorkerHelloBytes: 128 * KiB,
  workerHelloTimeoutMs: 10 * SECOND_MS,
  /** Maximum number of workers that are not accepted yet, and of those from one address. */
  maxUnacceptedWorkers: 500,
  maxUnacceptedWorkersOfAddress: 100,
  /** Maximum number of connections; at most three quarters of the served connections, together with waits for a result. */
  maxWorkers: 10_000,
  maxWorkersOfInstance: 1_000,
  /** Maximum size of a message of a worker: the longest reply with its frame. */
  maxWorkerMessageBytes: 33 * MiB,
  workersPageDefault: 100,
  workersPageMax: 200,
  /** Maximum number of workflow names in a listing of workers, for each connection. */
  maxListedWorkflowsOfWorker: 50,
  /** Maximum number of workflows without a connected worker in a listing of workers. */
  maxListedUnservedWorkflows: 200,
  /** Maximum number of frames in a message of a worker. */
  maxWorkerFrames: 20_000,
  /**
   * Maximum number of frames that the server did not request, per heartbeat interval, such as replies to unknown
   * requests. A frame counts once more for each KiB.
   */
  maxUnexpectedWorkerFrames: 1_000,
  /** Maximum number of abandoned requests of a connection whose late replies are still expected. */
  maxLateWorkerReplies: 1_000,
  /** Maximum number of workflows of a worker, of its concurrent requests, and of characters of its version or host. */
  maxWorkerWorkflows: 1_000,
  maxWorkerConcurrency: 10_000,
  maxWorkerTextLength: 256,
  /** Maximum number of unsent bytes at which a connection still gets another request. */
  maxUnsentWorkerBytes: MiB,
  /** Minimum rate at which a worker must read while bytes are unsent. */
  minWorkerReadBytesPerS: 64 * KiB,
  /** Time to read the rest of a request after the server abandoned it. */
  unreadRequestTimeoutMs: 5 * SECOND_MS,
  /** Interval of heartbeats. A connection without a frame for three intervals is closed. */
  workerHeartbeatMs: 10 * SECOND_MS,
  /** Interval at which the tokens of connected workers are verified again. Revocations are noticed earlier. */
  workerTokenCheckMs: 10 * SECOND_MS,
  /** Time for a worker to confirm the end of its connection. */
  workerCloseTimeoutMs: 5 * SECOND_MS,
});
