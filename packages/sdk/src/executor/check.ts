/**
 * Would the present code replay a journal? An execution of its own is run
 * against it, and thrown away: none of its steps is executed, and none that is
 * held for the run is touched. What the code does between steps, it does.
 */
import { describeError, JournalMismatchError } from '../errors.js';
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

/** What the code throws in place of asking for a step. */
function thrown(execution: Execution): string | null {
  const { settlement } = execution;
  if (settlement?.kind !== 'failed') return null;
  const { name, message } = describeError(settlement.error);
  return `${name}: ${message}`;
}

function differs(execution: Execution, step: Asked, isWhat: 'recorded' | 'planned', words?: string): CheckReply {
  const error = thrown(execution);
  const message =
    words ??
    `Step ${step.stepId} is ${isWhat} as ${shown(step)}, but the workflow now ${error === null ? 'does not ask for it' : `fails before it asks for it: ${error}`}.`;
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
    if (!(await execution.hasAsked(step.stepId))) return differs(execution, step, 'planned');
    const asked = execution.pending.get(step.stepId)?.plan;
    if (asked?.name !== step.name || asked.type !== step.type) {
      const instead = asked ? `asks for ${shown(asked)} there` : 'does not wait for it';
      const words = `Step ${step.stepId} is planned as ${shown(step)}, but the workflow now ${instead}.`;
      return differs(execution, step, 'planned', words);
    }
  }
  const error = thrown(execution);
  if (error !== null) {
    return reply('fits', `The code fits what is recorded, but fails behind it, before it asks for another step: ${error}`);
  }
  return reply('fits', 'The code asks for every recorded step as it did.');
}

/** `body` runs the workflow function of an execution. Never rejects. */
export async function checkReplay(request: CheckRequest, body: (execution: Execution) => unknown): Promise<CheckReply> {
  const execution = new Execution('check');
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<CheckReply>((resolve) => {
    const words = `The code did not come to its next step within ${request.limitMs} ms: it awaits something that is no step.`;
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
