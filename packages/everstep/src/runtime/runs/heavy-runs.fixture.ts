/** A cached run of any weight. */
import { startRun } from '../../engine/runs/start.js';
import { EMPTY_JOURNAL } from './holds.js';
import type { CachedRun } from './run-cache.js';

export function createEntry(instanceId: string, runKey: string, weight: number): CachedRun {
  const payload = { body: new Uint8Array(), contentType: null, forwardHeaders: {} };
  const settings = {
    maxRetries: 0,
    retryDelay: null,
    deliveryTimeoutMs: 1_000,
    labels: [],
    flowControl: null,
    failureCallback: null,
  };
  const { run } = startRun(
    {
      ...{ instanceId, dialect: 'native', workflowUrl: 'http://app/flow', payload, settings, callerIp: '127.0.0.1' },
      ...{ workflowRunId: null, notBefore: null, deduplicationId: null },
    },
    { now: 1_800_000_000_000, random: { bytes: (count) => new Uint8Array(count) }, publicUrl: '' },
  );
  const runWithKey = { ...run, key: runKey };
  return {
    ...{
      run: runWithKey,
      durableRun: runWithKey,
      forwardHeaders: {},
      payload: null,
      hold: null,
      digestedPrefix: EMPTY_JOURNAL,
      misses: 0,
    },
    ...{ uncommitted: 0, deliveries: 0, deliveryStartedAt: new Map(), abortController: null, giveUpCount: 0, weight },
  };
}
