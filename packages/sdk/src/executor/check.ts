/**
 * Checks whether the current code would replay a journal. It runs a separate execution against the journal and
 * discards it. No step is executed, and a held execution of the run is not affected. Code between steps does run.
 */
import { DecryptionError, describeError, JournalMismatchError } from '../errors.js';
import { type CheckReply, type CheckRequest, type JournalEntry, PROTOCOL_VERSION } from '../protocol.js';
import { Execution } from './execution.js';

type StepIdentity = Pick<JournalEntry, 'stepId' | 'name' | 'type'>;

const createReply = (outcome: CheckReply['outcome'], message: string, stepId?: number): CheckReply => ({
  protocol: PROTOCOL_VERSION,
  kind: 'checked',
  outcome,
  ...(stepId === undefined ? {} : { stepId }),
  message,
});

const describeStep = ({ type, name }: StepIdentity): string => `${type} ${JSON.stringify(name)}`;

/**
 * Returns the error that the code throws instead of requesting a step.
 *
 * @throws {DecryptionError} If the payload cannot be decrypted, which says nothing about the code.
 */
function describeThrownError(execution: Execution): string | null {
  const { settlement } = execution;
  if (settlement?.kind !== 'failed') return null;
  if (settlement.error instanceof DecryptionError) throw settlement.error;
  const { name, message } = describeError(settlement.error);
  return `${name}: ${message}`;
}

function differenceReply(
  execution: Execution,
  step: StepIdentity,
  state: 'recorded' | 'planned',
  explanation?: string,
): CheckReply {
  const error = describeThrownError(execution);
  const message =
    explanation ??
    `Step ${step.stepId} is ${state} as ${describeStep(step)}, but the workflow now ${error === null ? 'does not request it' : `fails before it requests it: ${error}`}.`;
  return createReply('differs', message, step.stepId);
}

async function replay(execution: Execution, { journal, open }: CheckRequest, runCode: () => unknown): Promise<CheckReply> {
  execution.start(runCode);
  await execution.untilQuiet();
  try {
    await execution.apply({ from: 0, length: journal.length, entries: journal });
  } catch (error) {
    const entry = journal[execution.appliedCount];
    if (!(error instanceof JournalMismatchError) || !entry) throw error;
    return differenceReply(execution, entry, 'recorded', error.message);
  }
  const nextEntry = journal[execution.appliedCount];
  if (nextEntry) return differenceReply(execution, nextEntry, 'recorded');
  for (const step of [...open].sort((a, b) => a.stepId - b.stepId)) {
    if (!(await execution.hasRequested(step.stepId))) return differenceReply(execution, step, 'planned');
    const requestedPlan = execution.pending.get(step.stepId)?.plan;
    if (requestedPlan?.name !== step.name || requestedPlan.type !== step.type) {
      const behavior = requestedPlan ? `requests ${describeStep(requestedPlan)} at this position` : 'does not wait for it';
      const message = `Step ${step.stepId} is planned as ${describeStep(step)}, but the workflow now ${behavior}.`;
      return differenceReply(execution, step, 'planned', message);
    }
  }
  const error = describeThrownError(execution);
  if (error !== null) {
    return createReply(
      'fits',
      `The code matches the recorded steps, but fails after them, before it requests another step: ${error}`,
    );
  }
  return createReply('fits', 'The code requests every recorded step as before.');
}

/** Checks a journal against the current code. `runCode` runs the workflow function of an execution. Never rejects. */
export async function checkReplay(request: CheckRequest, runCode: (execution: Execution) => unknown): Promise<CheckReply> {
  const execution = new Execution('check');
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<CheckReply>((resolve) => {
    const message = `The code did not reach its next step within ${request.limitMs} ms: it awaits something other than a step.`;
    timer = setTimeout(() => resolve(createReply('cannot-tell', message)), request.limitMs);
  });
  try {
    return await Promise.race([replay(execution, request, () => runCode(execution)), timeout]);
  } catch (error) {
    return createReply('cannot-tell', `The check failed: ${describeError(error).message}`);
  } finally {
    clearTimeout(timer);
    execution.drop();
  }
}
