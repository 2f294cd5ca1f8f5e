/**
 * Checks whether the current code of endpoints would replay runs. Nothing is executed, recorded or counted. Checks are not
 * deliveries: they pass no gates, and one request makes only a few at a time.
 */
import { type JournalEntry, PROTOCOL_VERSION } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { Run, RunPayload } from '../../engine/runs/run.js';
import { stepTypeOf } from '../../engine/runs/step-type.js';
import type { Clock } from '../../ports/clock.js';
import type { ReplayCheck, ReplayVerdict, StepCaller } from '../../ports/step-caller.js';
import type { Store } from '../../ports/stores/store.js';
import { encodeInput } from '../dispatch/requests/step-request.js';
import type { CheckedRun } from '../services/workflow-service.js';

export interface ReplayChecksOptions {
  readonly store: Pick<Store, 'loadJournal' | 'loadPayload' | 'loadRun'>;
  readonly stepCaller: StepCaller;
  readonly clock: Pick<Clock, 'now' | 'setTimer'>;
}

const cannotTell = (message: string): CheckedRun => ({ outcome: 'cannot-tell', stepId: null, stepName: null, message });
const TIME_LIMIT_REACHED = `the request reached its time limit (${LIMITS.checksTimeoutMs} ms); check this run again`;

function createCheck(run: Run, journal: readonly JournalEntry[], payload: RunPayload): ReplayCheck {
  const { key, workflowRunId: id, createdAt, workflowUrl, settings } = run;
  const timeoutMs = Math.min(LIMITS.checkTimeoutMs, settings.deliveryTimeoutMs);
  const openSteps = [...run.tasks.values()].flatMap((task) =>
    'name' in task ? [{ stepId: task.slot, name: task.name, type: stepTypeOf(task) }] : [],
  );
  return {
    instanceId: run.instanceId,
    dialect: run.dialect,
    workflowUrl,
    request: {
      protocol: PROTOCOL_VERSION,
      kind: 'check',
      run: { key, id, createdAt, workflowUrl, labels: settings.labels },
      journal,
      open: openSteps,
      input: encodeInput(payload),
      // The endpoint then responds before the timeout, with an unknown result.
      limitMs: Math.ceil(timeoutMs / 2),
    },
    forwardHeaders: payload.forwardHeaders,
    timeoutMs,
    hidesData: settings.redact !== undefined,
  };
}

function toCheckedRun(verdict: ReplayVerdict, { request }: ReplayCheck): CheckedRun {
  const { outcome, message } = verdict;
  if (outcome !== 'differs') return { outcome, stepId: null, stepName: null, message };
  const { stepId } = verdict;
  const step = [...request.journal, ...request.open].find((entry) => entry.stepId === stepId);
  return { outcome, stepId, stepName: step?.name ?? null, message };
}

async function checkRun({ store, stepCaller }: ReplayChecksOptions, runKey: string, signal: AbortSignal): Promise<CheckedRun> {
  if (signal.aborted) return cannotTell(TIME_LIMIT_REACHED);
  const run = await store.loadRun({ runKey });
  if (run && run.journalBytes > LIMITS.maxCheckedJournalBytes)
    return cannotTell(
      `the journal has ${run.journalBytes} bytes, over the limit of ${LIMITS.maxCheckedJournalBytes} for replay checks`,
    );
  const payload = run && (await store.loadPayload({ runKey }));
  if (!run || !payload) return cannotTell('the run was removed');
  if (run.settings.message) return cannotTell('a plain message has no steps, so there is nothing to replay');
  if (!stepCaller.check) return cannotTell('this server cannot send replay checks to endpoints');
  const recordedSteps = await store.loadJournal({ runKey, from: 0 });
  // Steps that were recorded since are no longer tasks.
  const journal = recordedSteps.map(
    ({ stepId, name, type, out }): JournalEntry => (out === null ? { stepId, name, type } : { stepId, name, type, out }),
  );
  const recordedIds = new Set(journal.map(({ stepId }) => stepId));
  const tasks = new Map([...run.tasks].filter(([slot]) => !recordedIds.has(slot)));
  const check = createCheck({ ...run, tasks }, journal, payload);
  const verdict = toCheckedRun(await stepCaller.check(check, signal), check);
  return signal.aborted ? cannotTell(TIME_LIMIT_REACHED) : verdict;
}

/** Resolves with the results in the order of the runs. `signal` aborts when the client has disconnected. */
export async function checkReplays(
  options: ReplayChecksOptions,
  runKeys: readonly string[],
  signal: AbortSignal,
): Promise<readonly CheckedRun[]> {
  const { clock } = options;
  const timeLimit = new AbortController();
  const abort = (): void => timeLimit.abort();
  const cancelTimer = clock.setTimer(clock.now() + LIMITS.checksTimeoutMs, abort);
  signal.addEventListener('abort', abort);
  const results: CheckedRun[] = [];
  let nextIndex = 0;
  async function checkNextRuns(): Promise<void> {
    for (let index = nextIndex++; index < runKeys.length; index = nextIndex++) {
      results[index] = await checkRun(options, runKeys[index] ?? '', timeLimit.signal);
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(LIMITS.maxConcurrentChecks, runKeys.length) }, checkNextRuns));
  } finally {
    cancelTimer();
    signal.removeEventListener('abort', abort);
  }
  return results;
}
