/** Sends plain messages over HTTP. Every status counts as a response. Redirects are not followed. */

import { DIALECTS } from '../dialects/index.js';
import { isWorkflowResponse } from '../dialects/other-sdk.js';
import type { Message, MessageOutcome, MessageSender, SignedMessage } from '../ports/message-sender.js';
import { NotAttemptedError } from '../ports/not-attempted.js';
import { valuesOf } from '../responses/endpoint-failure.js';
import { headerOf } from '../responses/retry-advice.js';
import { decodeResponse } from './exchanges/content-decoding.js';
import type { DestinationOutcome, Destinations, Target } from './exchanges/destinations.js';
import { type HttpResponse, METHODS, type Method } from './exchanges/exchange.js';
import { addSentRequest, sentRequest } from './exchanges/sent-request.js';
import { type FailedOutcome, failureWithoutResponse, responseTooLong, unusableResponse } from './failed-outcome.js';
import type { OutboundOptions } from './http-step-caller.js';
import { messageHeaders } from './message-headers.js';
import { Signer } from './signatures/signer.js';
import { webhookHeaders } from './signatures/webhook-signature.js';
import { USER_AGENT } from './version.js';

const NEVER = { kind: 'never' } as const;
const NO_BODY = new Uint8Array(0);
const MAX_SHOWN_METHOD_LENGTH = 40;

const methodOf = (text: string): Method | undefined => METHODS.find((method) => method === text.toUpperCase());

/** Returns the failure for an invalid message, which is not retried. */
const invalidMessage = (message: string): FailedOutcome => failureWithoutResponse('refused', message, NEVER);

const tooLongOutcome = (response: HttpResponse, maxBytes: number): FailedOutcome =>
  responseTooLong(response, maxBytes, 'maxResponseBytes');

export class HttpMessageSender implements MessageSender {
  private readonly options: OutboundOptions;
  private readonly destinations: Destinations;
  private readonly signer: Signer;

  constructor(options: OutboundOptions, destinations: Destinations) {
    this.options = options;
    this.destinations = destinations;
    this.signer = new Signer(options);
  }

  async send(message: Message, signal: AbortSignal, onSent?: () => void): Promise<MessageOutcome> {
    try {
      return await this.deliver(message, signal, onSent);
    } catch (error) {
      if (error instanceof NotAttemptedError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      // The URL may contain a third party's secret.
      this.options.log.error({ instanceId: message.instanceId, error: reason }, 'could not send a message');
      return failureWithoutResponse('network', `the request could not be sent: ${reason}`);
    }
  }

  private async deliver(message: Message, signal: AbortSignal, onSent: (() => void) | undefined): Promise<MessageOutcome> {
    const { instanceId, timeoutMs, maxResponseBytes, body, outcomeRecorded } = message;
    const method = methodOf(message.method);
    if (method === undefined) {
      const shownMethod = JSON.stringify(message.method.slice(0, MAX_SHOWN_METHOD_LENGTH));
      return invalidMessage(`the method must be ${METHODS.slice(0, -1).join(', ')} or ${METHODS.at(-1)}, but is ${shownMethod}`);
    }
    const loading = this.options.prepare?.(instanceId);
    if (loading) await loading;
    const verdict = this.destinations.targetOf(instanceId, message.url);
    if (!verdict.ok) return this.destinations.blockedOutcome(instanceId, verdict);
    const { target } = verdict;
    const key = this.messageKeyOf(message, target);
    const headers = messageHeaders({
      headers: message.webhook
        ? { ...message.headers, ...webhookHeaders(message.webhook, body ?? NO_BODY, this.options.now()) }
        : message.headers,
      serviceHeaders: {
        ...message.serviceHeaders,
        ...(message.signed ? this.signatureHeaders(message, message.signed, target, key) : {}),
      },
      dialect: DIALECTS[message.dialect],
      userAgent: USER_AGENT,
      headerMode: message.headerMode,
      trace: message.trace?.context,
    });
    if (!headers.ok) return invalidMessage(headers.message);
    const request = {
      method,
      path: target.path,
      headers: headers.pairs,
      body,
      timeoutMs,
      maxResponseBytes,
      onSent,
      outcomeRecorded,
    };
    const startedAt = this.options.now();
    const outcome = await this.destinations.send(instanceId, target, request, signal);
    const sent = sentRequest(target.url, request, outcome, startedAt, this.options.now(), true);
    const result = await this.messageOutcomeOf(outcome, message);
    if (result.kind === 'failure') return addSentRequest(result, sent);
    return { ...result, sent, ...(key !== null && rejectsSignature(outcome) ? { expectsSigningKeys: true } : {}) };
  }

  private messageKeyOf({ instanceId, signed }: Message, { origin }: Target): string | null {
    return signed === null || signed.isOwn ? null : this.signer.messageKeyFor(instanceId, origin);
  }

  private async messageOutcomeOf(outcome: DestinationOutcome, message: Message): Promise<MessageOutcome> {
    switch (outcome.kind) {
      case 'response':
        return decodedOutcome(outcome.response, message);
      case 'too-long':
        return message.anyBody
          ? acceptedResponse(outcome.response, message)
          : tooLongOutcome(outcome.response, message.maxResponseBytes);
      case 'failure':
        return outcome;
    }
  }

  /** Returns the headers with the signature and the region. */
  private signatureHeaders(
    { instanceId, dialect, body }: Message,
    { kind }: SignedMessage,
    { url }: Target,
    key: string | null,
  ): Readonly<Record<string, string>> {
    const { regionHeader } = DIALECTS[dialect];
    const region = regionHeader === null ? null : (this.options.regionOf?.(instanceId) ?? null);
    return {
      ...this.signer.sign({ instanceId, dialect, url, kind, body: body ?? NO_BODY, key }),
      ...(regionHeader !== null && region !== null ? { [regionHeader]: region } : {}),
    };
  }
}

/** Returns whether the response looks like a rejected signature, from a message receiver or a workflow endpoint. */
function rejectsSignature(outcome: DestinationOutcome): boolean {
  if (outcome.kind === 'failure') return false;
  const { status, headers } = outcome.response;
  return status === 401 || status === 403 || (status === 500 && isWorkflowResponse(headers));
}

function acceptedResponse({ status, headers, body }: HttpResponse, { dialect }: Message): MessageOutcome {
  const { spell, noFailureFunctionHeader } = DIALECTS[dialect];
  const isUnwanted = noFailureFunctionHeader !== null && headerOf(headers, spell(noFailureFunctionHeader)) === 'true';
  return { kind: 'response', status, headers: valuesOf(headers), body, ...(isUnwanted ? { unwanted: true } : {}) };
}

async function decodedOutcome(response: HttpResponse, message: Message): Promise<MessageOutcome> {
  const decodingResult = await decodeResponse(response, message.maxResponseBytes);
  if (decodingResult.kind === 'decoded') return acceptedResponse(decodingResult.response, message);
  if (message.anyBody) return acceptedResponse(response, message);
  if (decodingResult.kind === 'too-long') return tooLongOutcome(response, message.maxResponseBytes);
  const { encoding, reason } = decodingResult;
  return unusableResponse(response, `the endpoint returned ${response.status} with an invalid ${encoding} body (${reason})`);
}
