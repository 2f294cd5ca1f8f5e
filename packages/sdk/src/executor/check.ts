/**
 * Checks whether the current code would replay a journal. It runs a separate execution against the journal and
 * discards it. No step is executed, and a held execution of the run is not affected. Code between steps does run.
 */
import { DecryptionError, describeError, JournalMismatchError } from '../errors.js';
import { type CheckReply, type CheckRequest, type JournalEntry, PROTOCOL_VERSION } from '../protocol.js';
import { Execution } from './execution.js';

type Asked = Pick<JournalEntry, 'stepId' | 'name' | 'type'>;

const reply = (outcome: CheckReply['outcome'], message: string, stepId?: number): CheckReply => ({
  protocol: PROTOCOL_VERSION,
  kind: 'checked',
  outcome,
  ...(stepId === undefined ? {} : { stepId }),
  message,
});

const shown = ({ type, name }: Asked): string => `${type} ${JSON.stringify(name)}`;

/**
 * Returns the error that the code throws instead of requesting a step.
 *
 * @throws {DecryptionError} If the payload cannot be decrypted, which says nothing about the code.
 */
function thrown(execution: Execution): string | null {
  const { settlement } = execution;
  if (settlement?.kind !== 'failed') return null;
  if (settlement.error instanceof DecryptionError) throw settlement.error;
  const { name, message } = describeError(settlement.error);
  return `${name}: ${message}`;
}

function differs(execution: Execution, step: Asked, isWhat: 'recorded' | 'planned', words?: string): CheckReply {
  const error = thrown(execution);
  const message =
    words ??
    `Step ${step.stepId} is ${isWhat} as ${shown(step)}, but the workflow now ${error === null ? 'does not request it' : `fails before it requests it: ${error}`}.`;
  return reply('differs', message, step.stepId);
}

async function replay(execution: Execution, { journal, open }: CheckRequest, body: () => unknown): Promise<CheckReply> {
  execution.start(body);
  await execution.untilQuiet();
  try {
    await execution.apply({ from: 0, length: journal.length, entries: journal });
  } catch (error) {
    const entry = journal[execution.applied];
    if (!(error instanceof JournalMismatchError) || !entry) throw error;
    return differs(execution, entry, 'recorded', error.message);
  }
  const missed = journal[execution.applied];
  if (missed) return differs(execution, missed, 'recorded');
  for (const step of [...open].sort((a, b) => a.stepId - b.stepId)) {
    if (!(await execution.hasRequested(step.stepId))) return differs(execution, step, 'planned');
    const asked = execution.pending.get(step.stepId)?.plan;
    if (asked?.name !== step.name || asked.type !== step.type) {
      const instead = asked ? `requests ${shown(asked)} at this position` : 'does not wait for it';
      const words = `Step ${step.stepId} is planned as ${shown(step)}, but the workflow now ${instead}.`;
      return differs(execution, step, 'planned', words);
    }
  }
  const error = thrown(execution);
  if (error !== null) {
    return reply('fits', `The code matches the recorded steps, but fails after them, before it requests another step: ${error}`);
  }
  return reply('fits', 'The code requests every recorded step as before.');
}

/** Replays a journal. `body` runs the workflow function of an execution. Never rejects. */
export async function checkReplay(request: CheckRequest, body: (execution: Execution) => unknown): Promise<CheckReply> {
  const execution = new Execution('check');
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<CheckReply>((resolve) => {
    const words = `The code did not reach its next step within ${request.limitMs} ms: it awaits something other than a step.`;
    timer = setTimeout(() => resolve(reply('cannot-tell', words)), request.limitMs);
  });
  try {
    return await Promise.race([replay(execution, request, () => body(execution)), late]);
  } catch (error) {
    return reply('cannot-tell', `The check failed: ${describeError(error).message}`);
  } finally {
    clearTimeout(timer);
    execution.drop();
  }
}
