/** Handles the work that a connection receives, using the workflows of the app. */
import { describeError } from '../errors.js';
import { refusedReply } from '../executor/executor.js';
import { PROTOCOL_VERSION } from '../protocol.js';
import type { NoticeOutcome, RequestTransport, ServedWorkflow } from '../served-workflow.js';
import type { NoticeAnswer } from './frames.js';
import type { Work, WorkReply } from './worker-connection.js';

const unknownWorkflowMessage = (name: string): string => `this worker does not serve the workflow ${JSON.stringify(name)}`;

function noticeReply(outcome: NoticeOutcome): NoticeAnswer {
  switch (outcome.kind) {
    case 'handled':
      return outcome;
    // Another worker of the app may have the function.
    case 'rejected':
      return { kind: 'failed', message: outcome.message, retry: { kind: 'backoff' } };
    case 'failed':
      return { kind: 'failed', message: outcome.message, retry: outcome.retry };
  }
}

/** Performs one request and resolves with its answer. Never rejects. */
export async function performWork(
  workflows: ReadonlyMap<string, ServedWorkflow>,
  work: Work,
  transport: RequestTransport = {},
): Promise<WorkReply> {
  const { id, workflow } = work;
  const servedWorkflow = workflows.get(workflow);
  if (work.kind === 'notice') {
    const outcome: NoticeAnswer = servedWorkflow
      ? noticeReply(await servedWorkflow.handleNotice(work.notice))
      : { kind: 'failed', message: unknownWorkflowMessage(workflow), retry: { kind: 'backoff' } };
    return { kind: 'noticed', id, outcome };
  }
  if (!servedWorkflow) return { kind: 'answer', id, reply: refusedReply('bad-request', unknownWorkflowMessage(workflow)) };
  try {
    return { kind: 'answer', id, reply: await servedWorkflow.answer(work.request, transport) };
  } catch (error) {
    const { name, message } = describeError(error);
    const retry = { kind: 'backoff' } as const;
    const reply = { protocol: PROTOCOL_VERSION, kind: 'failed', base: 0, done: [], error: { name, message }, retry } as const;
    return { kind: 'answer', id, reply };
  }
}
