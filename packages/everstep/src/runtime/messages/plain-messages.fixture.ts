/** Plain messages for tests, and the responses of their endpoints. */
import type { Message, MessageOutcome } from '../../ports/message-sender.js';
import { SETTINGS } from '../runtime.fixture.js';
import type { MessageCommand } from '../services/workflow-service.js';

export const HOOK_URL = 'http://app.test/hook';

export const commandFor = (text: string, overrides: Partial<MessageCommand> = {}): MessageCommand => ({
  instanceId: 'qi_1',
  dialect: 'upstash',
  destination: { kind: 'url', url: HOOK_URL },
  payload: { body: Buffer.from(text), contentType: 'text/plain', forwardHeaders: { 'x-a': 'b' } },
  settings: SETTINGS,
  method: 'POST',
  callback: null,
  queue: null,
  notBefore: null,
  deduplicationId: null,
  callerIp: '10.0.0.1',
  ...overrides,
});

export const respondWith = (status: number, text = ''): MessageOutcome => ({
  kind: 'response',
  status,
  headers: { 'content-type': ['text/plain'] },
  body: Buffer.from(text),
});

export const textOf = ({ body }: Pick<Message, 'body'>): string => Buffer.from(body ?? []).toString();
