/** The demo of `npm start`: one order that succeeds, and one that fails and is resumed from the dead letter queue. */
import { setTimeout as pause } from 'node:timers/promises';
import { Client, type DeadLetterEntry, type RunJournal } from '@everstep/sdk';
import type { Credentials } from '../../bootstrap/credentials.js';
import type { Config } from '../../config/config.js';
import { pageOf } from '../journal-page.js';
import { duration, type Screen, styled } from '../output.js';
import { type EarlierSteps, RunProgressPrinter } from '../run-progress.js';
import { type ExampleApp, hasExampleApp, startExampleApp } from './example-app.js';
import { notifyCommand, writeNextSteps } from './next-steps.js';

const POLL_INTERVAL_MS = 100;
const RETRY_DELAY = '400 * (1 + retried)';
/** Time after which the customer of the demo confirms an order. */
const CONFIRMATION_DELAY_MS = 2_000;
const CUSTOMER = 'ada@example.com';
/** Maximum wait for the failure function of the demo. */
const CALLBACK_TIMEOUT_MS = 10_000;
/** Maximum number of earlier runs that the demo follows. Further ones are only counted, up to the next limit. */
const MAX_FOLLOWED_RUNS = 5;
const MAX_COUNTED_RUNS = 500;
/** Maximum time to follow earlier runs, and the longest pause of a run during which the demo keeps following it. */
const FOLLOW_EARLIER_MS = 20_000;
const MAX_WAIT_MS = 5_000;

export interface DemoServer {
  readonly url: string;
  readonly credentials: Credentials;
  /** Time on the server's clock before it continued earlier work, Unix ms. */
  readonly startedAt: number;
}

export interface Demo {
  /** Starts the example app. It is called before the server sends deliveries to the app. */
  start(credentials: Credentials): Promise<void>;
  /** Resolves when the demo has ended; rejects when `signal` aborts or a request fails. */
  show(server: DemoServer, signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

/** Returns the demo; null if the example app is missing, as in the published package. */
export function createDemo(config: Config, screen: Screen): Demo | null {
  if (!hasExampleApp()) return null;
  let app: ExampleApp | null = null;
  return {
    async start(credentials) {
      app = await startExampleApp(config.dataDir, credentials);
    },
    async show(server, signal) {
      if (!app) throw new Error('the example app is not running');
      await new DemoPlayback({ config, screen, server, app, signal }).play();
    },
    async stop() {
      await app?.stop();
    },
  };
}

interface DemoContext {
  readonly config: Config;
  readonly screen: Screen;
  readonly server: DemoServer;
  readonly app: ExampleApp;
  readonly signal: AbortSignal;
}

interface DemoOrder {
  readonly orderId: string;
  readonly payWith: 'card' | 'bank';
  readonly lines: readonly { readonly product: string; readonly quantity: number }[];
}

interface FollowOptions {
  readonly printer?: RunProgressPrinter;
  readonly past?: EarlierSteps;
  /** Returns whether the run does not have to be followed further. */
  readonly canStop?: (journal: RunJournal) => boolean;
}

/** Returns the id of the event that the run waits for, if any. */
const waitEventIdOf = ({ tasks }: RunJournal): string | undefined => tasks.find(({ kind }) => kind === 'wait')?.waitEventId;

/** Returns the time until the next task of the run is due; 0 if it is due already. */
function waitMs({ tasks }: RunJournal): number {
  const dueAt = tasks.flatMap((task) => task.dueAt ?? []);
  return dueAt.length === 0 ? 0 : Math.max(0, Math.min(...dueAt) - Date.now());
}

/** Describes the state of a run that has not ended. */
function stateText(journal: RunJournal): string {
  const eventId = waitEventIdOf(journal);
  if (eventId !== undefined) return `waiting for event ${eventId}`;
  const remainingMs = waitMs(journal);
  return remainingMs > 0 ? `continues in ${duration(remainingMs)}` : 'is still running';
}

class DemoPlayback {
  private readonly context: DemoContext;
  private readonly client: Client;

  constructor(context: DemoContext) {
    this.context = context;
    this.client = new Client({ baseUrl: context.server.url, token: context.server.credentials.token });
  }

  async play(): Promise<void> {
    const { app, config, server, screen } = this.context;
    await this.showEarlierRuns();
    await this.showOrder();
    await this.showFailureAndResume();
    const { url, credentials } = server;
    screen.write(await writeNextSteps(screen, { url, token: credentials.token, dataDir: config.dataDir, exampleUrl: app.url }));
  }

  private print(text: string): void {
    this.context.screen.write(`${text}\n`);
  }

  private heading(text: string): void {
    this.print(styled(this.context.screen, 'bold', text));
  }

  private async pauseBetweenPolls(): Promise<void> {
    await pause(POLL_INTERVAL_MS, undefined, { signal: this.context.signal });
  }

  /** Prints the run and the runs it invokes until it ends or `canStop` returns true. Resolves with its journal. */
  private async follow(workflowRunId: string, options: FollowOptions = {}): Promise<RunJournal> {
    const { printer = new RunProgressPrinter(this.context.screen), past, canStop = () => false } = options;
    for (;;) {
      const journal = await this.client.runs.get(workflowRunId);
      const invokedRuns = await Promise.all(
        (journal.invokedRuns ?? []).map(({ workflowRunId: id, workflowCreatedAt }) =>
          this.client.runs.get(id, { workflowCreatedAt }),
        ),
      );
      const page = pageOf(journal, past === undefined ? {} : { past });
      printer.print(page, ...invokedRuns.map((child) => pageOf(child, { depth: 1, past: page.past })));
      if (journal.workflowState !== 'RUN_STARTED' || canStop(journal)) return journal;
      await this.pauseBetweenPolls();
    }
  }

  private async trigger(order: DemoOrder, retries: number) {
    return this.client.trigger(this.context.app.workflowUrl, {
      body: { ...order, customer: CUSTOMER },
      retries,
      retryDelay: RETRY_DELAY,
      labels: ['demo'],
    });
  }

  private async showEarlierRuns(): Promise<void> {
    const { startedAt } = this.context.server;
    let runCount = 0;
    const unfinishedRunIds: string[] = [];
    for await (const run of this.client.logs()) {
      runCount++;
      // A run that was nearly finished may have ended by now. An invoked run is printed together with its parent.
      const wasUnfinished = (run.workflowRunCompletedAt ?? startedAt) >= startedAt;
      if (wasUnfinished && run.workflowRunOrigin?.kind !== 'invoke') unfinishedRunIds.push(run.workflowRunId);
      if (runCount === MAX_COUNTED_RUNS) break;
    }
    if (runCount === 0) return;
    const countLabel =
      runCount === MAX_COUNTED_RUNS ? `${runCount} runs or more` : runCount === 1 ? 'One run' : `${runCount} runs`;
    this.print(`${countLabel} from earlier starts ${runCount === 1 ? 'is' : 'are'} in the store.\n`);
    if (unfinishedRunIds.length === 0) return;
    const unfinishedLabel =
      runCount === 1 ? 'It' : unfinishedRunIds.length === 1 ? 'One of them' : `${unfinishedRunIds.length} of them`;
    this.heading(
      `${unfinishedLabel} had not finished when the server stopped, and ${unfinishedRunIds.length === 1 ? 'continues' : 'continue'} after the last recorded step.`,
    );
    const past = { until: startedAt, text: 'recorded before the server stopped' };
    const giveUpAt = Date.now() + FOLLOW_EARLIER_MS;
    const canStop = (journal: RunJournal) => Date.now() > giveUpAt || waitMs(journal) > MAX_WAIT_MS;
    for (const workflowRunId of unfinishedRunIds.slice(0, MAX_FOLLOWED_RUNS)) {
      this.print(`   ${workflowRunId}`);
      this.printEnd(await this.follow(workflowRunId, { past, canStop }));
    }
    this.print('');
  }

  private printEnd(journal: RunJournal): void {
    const { screen } = this.context;
    if (journal.workflowState === 'RUN_STARTED') {
      this.print(`   ${stateText(journal)}; details: npx everstep runs explain ${journal.workflowRunId}`);
      return;
    }
    const durationText = duration((journal.workflowRunCompletedAt ?? journal.workflowCreatedAt) - journal.workflowCreatedAt);
    if (journal.workflowState === 'RUN_SUCCESS') {
      this.print(`   ${styled(screen, 'green', 'RUN_SUCCESS')} after ${durationText}: ${JSON.stringify(journal.result)}`);
    } else {
      this.print(
        `   ${styled(screen, 'red', journal.workflowState)} after ${durationText}${journal.error ? `: ${journal.error}` : ''}`,
      );
    }
  }

  private async showOrder(): Promise<void> {
    const { app, screen } = this.context;
    this.heading('1. An order paid by card. Steps marked ‖ run in parallel. The first request to the card processor fails.');
    const orderId = `card-${Date.now().toString(36)}`;
    const lines = [
      { product: 'book', quantity: 2 },
      { product: 'lamp', quantity: 1 },
    ];
    const { workflowRunId } = await this.trigger({ orderId, payWith: 'card', lines }, 3);
    this.print(`   triggered ${app.workflowUrl} as ${workflowRunId}`);
    const printer = new RunProgressPrinter(screen);
    const waitingRun = await this.follow(workflowRunId, { printer, canStop: (journal) => waitEventIdOf(journal) !== undefined });
    const eventId = waitEventIdOf(waitingRun);
    if (eventId !== undefined) await this.confirm(eventId);
    this.printEnd(await this.follow(workflowRunId, { printer }));
    this.print('');
  }

  private async confirm(eventId: string): Promise<void> {
    await pause(CONFIRMATION_DELAY_MS, undefined, { signal: this.context.signal });
    this.print('     After two seconds the customer confirms the order with this command (after: export $(npx everstep env)):');
    this.print(`     ${notifyCommand(eventId, CUSTOMER)}`);
    await this.client.notify({ eventId, eventData: { by: CUSTOMER } });
  }

  private async showFailureAndResume(): Promise<void> {
    const { app, signal, screen } = this.context;
    this.heading('2. An order paid by bank transfer. The payment service of the bank is down.');
    const lines = [{ product: 'book', quantity: 1 }];
    const { workflowRunId } = await this.trigger({ orderId: `bank-${Date.now().toString(36)}`, payWith: 'bank', lines }, 2);
    this.print(`   triggered as ${workflowRunId}`);
    const failedRun = await this.follow(workflowRunId);
    this.printEnd(failedRun);
    const { messages } = await this.client.dlq.list({ workflowRunId });
    const [entry] = messages;
    if (!entry)
      throw new Error(`the run ${workflowRunId} ended as ${failedRun.workflowState} and is not in the dead letter queue`);
    this.print(`   the run is in the dead letter queue as ${styled(screen, 'yellow', entry.dlqId)}`);
    await this.showFailureFunction(entry);
    this.print('');

    this.heading('3. The bank is up again, and the run is resumed. Completed steps are kept; only the other steps run.');
    await fetch(`${app.url}/bank/up`, { method: 'POST', signal });
    const resumedRun = await this.client.dlq.resume(entry.dlqId);
    this.print(`   resumed as ${resumedRun.workflowRunId}`);
    this.printEnd(await this.follow(resumedRun.workflowRunId));
    this.print('');
  }

  /** Waits for the failure function of the workflow and prints its result. */
  private async showFailureFunction({ dlqId, workflowRunId }: DeadLetterEntry): Promise<void> {
    const { app, signal } = this.context;
    const giveUpAt = performance.now() + CALLBACK_TIMEOUT_MS;
    let entry = await this.client.dlq.get(dlqId);
    while (entry.failureFunctionState === 'CALLBACK_INPROGRESS' && performance.now() < giveUpAt) {
      await this.pauseBetweenPolls();
      entry = await this.client.dlq.get(dlqId);
    }
    this.print(`   the failure function was called: ${entry.failureFunctionState ?? 'none'}`);
    const response = await fetch(`${app.url}/apologies/${workflowRunId}`, { signal });
    if (!response.ok) return;
    const { apology } = (await response.json()) as { readonly apology: string };
    this.print(`     the shop sent this email: ${apology}`);
  }
}
