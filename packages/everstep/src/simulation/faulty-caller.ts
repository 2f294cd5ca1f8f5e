/**
 * The network and the user's app, as seen by one life of the server. Real SDK endpoints are behind a connection that
 * loses, repeats and delays requests and responses, and returns garbage. The app can restart and then loses its held
 * runs.
 */
import { PROTOCOL_HEADER, type StepReply } from '@everstep/sdk/protocol';
import type { WorkflowEndpoint } from '../../../sdk/dist/endpoint.js';
import type { SeededRandom } from '../clock/testing/seeded-random.js';
import type { SimulatedClock } from '../clock/testing/simulated-clock.js';
import type { DeliveryFailure } from '../engine/runs/run.js';
import type { Message, MessageOutcome, MessageSender } from '../ports/message-sender.js';
import type { StepCall, StepCaller, StepOutcome } from '../ports/step-caller.js';
import { apiResult } from './workflows.js';

/** Probabilities of faults per request, and the longest delay in ms. */
export interface NetworkFaults {
  readonly loseRequest: number;
  readonly loseResponse: number;
  readonly duplicate: number;
  readonly garbage: number;
  readonly restartApp: number;
  readonly maxDelayMs: number;
}

/** The user's app: receives the bytes of a request, and returns status, headers and bytes. */
export interface App {
  /** The workflows by name, for transports other than HTTP. */
  readonly workflows: Readonly<Record<string, WorkflowEndpoint>>;
  handle(request: {
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Uint8Array;
    readonly url: string;
    readonly method: string;
  }): Promise<{
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | Uint8Array;
  }>;
}

/** The current app. A restart replaces it. */
export interface RunningApp {
  current: App;
}

export class FaultyCaller implements StepCaller, MessageSender {
  /** Number of endpoint executions in progress in real time. Simulated time does not advance during them. */
  busyCount = 0;
  private readonly clock: SimulatedClock;
  private readonly random: SeededRandom;
  private readonly faults: NetworkFaults;
  private readonly startApp: () => App;
  private readonly app: RunningApp;

  constructor(clock: SimulatedClock, random: SeededRandom, faults: NetworkFaults, startApp: () => App, app?: RunningApp) {
    this.clock = clock;
    this.random = random;
    this.faults = faults;
    this.startApp = startApp;
    this.app = app ?? { current: startApp() };
  }

  async call(call: StepCall, signal: AbortSignal, onSent?: () => void): Promise<StepOutcome> {
    const { faults, random } = this;
    onSent?.();
    if (random.chance(faults.restartApp)) this.app.current = this.startApp();
    await this.waitInTransit();
    if (random.chance(faults.loseRequest)) return stepFailure('network', 'the connection was refused', signal);
    if (random.chance(faults.duplicate)) void this.waitInTransit().then(() => this.execute(call));
    const outcome = await this.execute(call);
    await this.waitInTransit();
    if (random.chance(faults.loseResponse))
      return stepFailure('network', 'the connection was closed before the response', signal);
    if (random.chance(faults.garbage)) {
      return {
        kind: 'failure',
        failure: { ...NO_RESPONSE, cause: 'not-protocol', status: 200, message: 'garbage', retry: { kind: 'never' } },
      };
    }
    return outcome;
  }

  /** Sends a message to the simulated API, on the same network. */
  async send(message: Message, signal: AbortSignal, onSent?: () => void): Promise<MessageOutcome> {
    const { faults, random } = this;
    onSent?.();
    await this.waitInTransit();
    if (random.chance(faults.loseRequest)) return messageFailure('the connection was refused', signal);
    await this.waitInTransit();
    if (random.chance(faults.loseResponse)) return messageFailure('the connection was closed before the response', signal);
    const value = Number(new URL(message.url).pathname.slice(1));
    const body = new TextEncoder().encode(JSON.stringify(apiResult(value)));
    return { kind: 'response', status: 200, headers: { 'content-type': ['application/json'] }, body };
  }

  async close(): Promise<void> {}

  private waitInTransit(): Promise<void> {
    return this.clock.wait(this.random.below(this.faults.maxDelayMs));
  }

  private async execute(call: StepCall): Promise<StepOutcome> {
    this.busyCount++;
    try {
      const response = await this.app.current.handle({
        method: 'POST',
        url: call.workflowUrl,
        headers: { 'content-type': 'application/json', [`svc-${PROTOCOL_HEADER.toLowerCase()}`]: '1', ...call.forwardHeaders },
        body: new TextEncoder().encode(JSON.stringify(call.request)),
      });
      const text = typeof response.body === 'string' ? response.body : new TextDecoder().decode(response.body);
      const reply: StepReply = JSON.parse(text);
      return { kind: 'reply', reply, status: response.status, responseHeaders: {}, responseBody: new TextEncoder().encode(text) };
    } finally {
      this.busyCount--;
    }
  }
}

const NO_RESPONSE = { responseHeaders: {}, responseBody: new Uint8Array(), status: null };

const deliveryFailure = (cause: DeliveryFailure['cause'], message: string, signal: AbortSignal): DeliveryFailure => ({
  ...NO_RESPONSE,
  cause,
  message: signal.aborted ? 'aborted' : message,
  retry: { kind: 'backoff' },
});

const stepFailure = (cause: DeliveryFailure['cause'], message: string, signal: AbortSignal): StepOutcome => ({
  kind: 'failure',
  failure: deliveryFailure(cause, message, signal),
});

const messageFailure = (message: string, signal: AbortSignal): MessageOutcome => ({
  kind: 'failure',
  failure: deliveryFailure('network', message, signal),
});
