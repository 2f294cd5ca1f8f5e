/** Sends one signed POST to the workflow URL for each step. The dialect encodes the request and interprets the response. */

import { LIMITS } from '../config/limits.js';
import { type StepCodec, sentBytesOf } from '../dialects/dialect.js';
import { DIALECTS } from '../dialects/index.js';
import { LONG_BYTES, type WorkSlices } from '../fairness/work-slices.js';
import { NotAttemptedError } from '../ports/not-attempted.js';
import type { ReplayCheck, ReplayVerdict, StepCall, StepCaller, StepOutcome } from '../ports/step-caller.js';
import type { ResponseHeaders } from '../responses/retry-advice.js';
import type { Destinations, DestinationsOptions } from './exchanges/destinations.js';
import type { BodyParts } from './exchanges/exchange.js';
import { buildLongBody } from './exchanges/long-body.js';
import { addSentRequest, sentRequest } from './exchanges/sent-request.js';
import { failureWithoutResponse, responseTooLong } from './failed-outcome.js';
import { Signer, type SignerOptions } from './signatures/signer.js';
import { USER_AGENT } from './version.js';

const unknownVerdict = (message: string): ReplayVerdict => ({ outcome: 'cannot-tell', message });

/** Options of all senders of requests. */
export interface OutboundOptions extends DestinationsOptions, SignerOptions {
  /** Loads an instance before its data is needed. Returns null if it is already loaded. */
  readonly prepare?: (instanceId: string) => Promise<void> | null;
  /** Returns the region of an instance for receivers that expect it; null if unknown. */
  readonly regionOf?: (instanceId: string) => string | null;
  /** Encodes and decodes long bodies in slices. If absent, they are processed in one piece. */
  readonly slices?: Pick<WorkSlices, 'run'>;
}

export class HttpStepCaller implements StepCaller {
  private readonly options: OutboundOptions;
  private readonly destinations: Destinations;
  private readonly signer: Signer;

  constructor(options: OutboundOptions, destinations: Destinations) {
    this.options = options;
    this.destinations = destinations;
    this.signer = new Signer(options);
  }

  async call(call: StepCall, signal: AbortSignal, onSent?: () => void): Promise<StepOutcome> {
    try {
      return await this.deliver(call, signal, onSent);
    } catch (error) {
      if (error instanceof NotAttemptedError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      this.options.log.error(
        { instanceId: call.instanceId, runKey: call.request.run.key, error: reason },
        'could not send a step request',
      );
      return failureWithoutResponse('network', `the call could not be sent: ${reason}`);
    }
  }

  async check(check: ReplayCheck, signal: AbortSignal): Promise<ReplayVerdict> {
    try {
      return await this.sendCheck(check, signal);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.options.log.error({ instanceId: check.instanceId, error: reason }, 'could not send a replay check');
      return unknownVerdict(`the check could not be sent: ${reason}`);
    }
  }

  close(): Promise<void> {
    return this.destinations.close();
  }

  /** Runs work on this many bytes, in a slice if there are many. The slice lasts until `end` settles, which is after the commit. */
  private inSlice<Result>(instanceId: string, bytes: number, work: () => Result, end?: Promise<void>): Result | Promise<Result> {
    const { slices } = this.options;
    if (!slices || bytes < LONG_BYTES) return work();
    return new Promise((resolve, reject) => {
      const slice = slices.run(instanceId, async () => {
        resolve(work());
        await end;
      });
      slice.catch(reject);
    });
  }

  /** Returns the body of a request, in parts that were built in slices if it is long. */
  private bodyOf(call: StepCall, steps: StepCodec): Uint8Array | Promise<Uint8Array | BodyParts> {
    const bytes = sentBytesOf(call);
    const { slices } = this.options;
    if (!slices || bytes < LONG_BYTES || !steps.bodyParts) return this.inSlice(call.instanceId, bytes, () => steps.body(call));
    return buildLongBody(steps.bodyParts(call), (work) => slices.run(call.instanceId, work));
  }

  private async sendCheck(check: ReplayCheck, signal: AbortSignal): Promise<ReplayVerdict> {
    const { options, destinations, signer } = this;
    const { instanceId, dialect } = check;
    const { checks } = DIALECTS[dialect].steps;
    if (!checks) {
      return unknownVerdict(
        'endpoints with this SDK do not support replay checks; serve the workflow with @everstep/sdk, or try one run before the others',
      );
    }
    await options.prepare?.(instanceId);
    const verdict = destinations.targetOf(instanceId, check.workflowUrl);
    if (!verdict.ok) return unknownVerdict(verdict.message);
    const { target } = verdict;
    await signer.recordWorkflowOrigin(instanceId, target.origin);
    const body = checks.body(check);
    const { url, path } = target;
    const signatures = signer.sign({ instanceId, dialect, url, kind: 'step', body, key: null });
    const region = options.regionOf?.(instanceId) ?? null;
    const headers = checks.headers(check, { url, userAgent: USER_AGENT, signatures, region });
    const { timeoutMs } = check;
    const request = { method: 'POST', path, headers, body, timeoutMs, maxResponseBytes: LIMITS.maxReplyBytes } as const;
    const outcome = await destinations.send(instanceId, target, request, signal);
    switch (outcome.kind) {
      case 'response':
        return checks.read(outcome.response, check, options.now());
      case 'too-long':
        return unknownVerdict(responseTooLong(outcome.response, LIMITS.maxReplyBytes, 'maxReplyBytes').failure.message);
      case 'failure':
        return unknownVerdict(outcome.failure.message);
    }
  }

  private async deliver(call: StepCall, signal: AbortSignal, onSent: (() => void) | undefined): Promise<StepOutcome> {
    const { options, destinations, signer } = this;
    const { instanceId, dialect } = call;
    const loading = options.prepare?.(instanceId);
    if (loading) await loading;
    const verdict = destinations.targetOf(instanceId, call.workflowUrl);
    if (!verdict.ok) return destinations.blockedOutcome(instanceId, verdict);
    const { target } = verdict;
    const recording = signer.recordWorkflowOrigin(instanceId, target.origin);
    if (recording) await recording;
    const { steps } = DIALECTS[dialect];
    const body = await this.bodyOf(call, steps);
    const signatures = signer.sign({ instanceId, dialect, url: target.url, kind: 'step', body, key: null });
    const region = options.regionOf?.(instanceId) ?? null;
    const headers = steps.headers(call, { url: target.url, userAgent: USER_AGENT, signatures, region });
    const { timeoutMs, outcomeRecorded } = call;
    const { maxReplyBytes: maxResponseBytes = LIMITS.maxReplyBytes } = call;
    const neededBytes = (headers: ResponseHeaders) => (steps.isReply(headers) ? maxResponseBytes : LIMITS.maxKeptResponseBytes);
    const baseRequest = { method: 'POST', path: target.path, headers, body, timeoutMs, onSent, outcomeRecorded } as const;
    const request = { ...baseRequest, maxResponseBytes, neededBytes };
    const startedAt = options.now();
    const outcome = await destinations.send(instanceId, target, request, signal);
    const endedAt = options.now();
    const sent = sentRequest(target.url, request, outcome, startedAt, endedAt, false);
    switch (outcome.kind) {
      case 'response': {
        const { response: httpResponse } = outcome;
        const readResponse = () => steps.read(httpResponse, call, endedAt);
        const result = await this.inSlice(instanceId, httpResponse.body.length, readResponse, outcomeRecorded);
        return result.kind === 'failure' ? addSentRequest(result, sent) : { ...result, sent };
      }
      case 'too-long':
        return addSentRequest(responseTooLong(outcome.response, maxResponseBytes, 'maxReplyBytes'), sent);
      case 'failure':
        return addSentRequest(outcome, sent);
    }
  }
}
