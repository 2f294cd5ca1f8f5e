/** What `npm start` shows: an order from trigger to result, and one through the dead letter queue and back. */
import { setTimeout as pause } from 'node:timers/promises';
import { Client, type DeadLetterEntry, type RunJournal } from '@everstep/sdk';
import type { Credentials } from '../../bootstrap/credentials.js';
import type { Config } from '../../config/config.js';
import { pageOf } from '../journal-page.js';
import { duration, type Screen, styled } from '../output.js';
import { RunStory, type StoryPast } from '../run-story.js';
import { type ExampleApp, hasExampleApp, startExampleApp } from './example-app.js';
import { nextStepsText, notifyCommand } from './next-steps.js';

const LOOK_EVERY_MS = 100;
const RETRY_DELAY = '400 * (1 + retried)';
/** How long the customer of the demo thinks before confirming. */
const THINKING_MS = 2_000;
const CUSTOMER = 'ada@example.com';
/** How long the failure function of the demo is waited for. */
const CALLBACK_PATIENCE_MS = 10_000;
/** Runs from before that are followed one by one; more than that are only counted. */
const MAX_FOLLOWED = 5;
const MAX_COUNTED = 500;
/** For how long they are followed, all together, and how long a wait of one may be to be waited for. */
const FOLLOW_EARLIER_MS = 20_000;
const MAX_WAIT_MS = 5_000;

export interface DemoService {
  readonly url: string;
  readonly credentials: Credentials;
  /** Unix ms on the service's clock, before it took up its work. */
  readonly startedAt: number;
}

export interface Demo {
  /** Starts the example app, before the service delivers anything to it. */
  start(credentials: Credentials): Promise<void>;
  /** Resolves when all has been shown; rejects when `signal` aborts or something goes wrong. */
  show(service: DemoService, signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

/** Null when the example is not there: it is part of the repository, not of the published package. */
export function createDemo(config: Config, screen: Screen): Demo | null {
  if (!hasExampleApp()) return null;
  let app: ExampleApp | null = null;
  return {
    async start(credentials) {
      app = await startExampleApp(config.dataDir, credentials);
    },
    async show(service, signal) {
      if (!app) throw new Error('the example app does not run');
      await new Show({ config, screen, service, app, signal }).play();
    },
    async stop() {
      await app?.stop();
    },
  };
}

interface Stage {
  readonly config: Config;
  readonly screen: Screen;
  readonly service: DemoService;
  readonly app: ExampleApp;
  readonly signal: AbortSignal;
}

interface DemoOrder {
  readonly orderId: string;
  readonly payWith: 'card' | 'bank';
  readonly lines: readonly { readonly product: string; readonly quantity: number }[];
}

interface FollowOptions {
  readonly story?: RunStory;
  readonly past?: StoryPast;
  /** Followed no further than that. */
  readonly isEnough?: (journal: RunJournal) => boolean;
}

/** The event that it waits for. */
const eventOf = ({ tasks }: RunJournal): string | undefined => tasks.find(({ kind }) => kind === 'wait')?.waitEventId;

/** How long nothing will happen in the run; 0 when something is under way. */
function waitMs({ tasks }: RunJournal): number {
  const dueAt = tasks.flatMap((task) => task.dueAt ?? []);
  return dueAt.length === 0 ? 0 : Math.max(0, Math.min(...dueAt) - Date.now());
}

/** Where a run stands that has not ended. */
function standing(journal: RunJournal): string {
  const event = eventOf(journal);
  if (event !== undefined) return `waits for the event ${event}`;
  const wait = waitMs(journal);
  return wait > 0 ? `continues in ${duration(wait)}` : 'is still running';
}

class Show {
  private readonly stage: Stage;
  private readonly client: Client;

  constructor(stage: Stage) {
    this.stage = stage;
    this.client = new Client({ baseUrl: stage.service.url, token: stage.service.credentials.token });
  }

  async play(): Promise<void> {
    const { app, config, service, screen } = this.stage;
    await this.showEarlierRuns();
    await this.showOrder();
    await this.showFailureAndResume();
    const { url, credentials } = service;
    screen.write(nextStepsText(screen, { url, token: credentials.token, dataDir: config.dataDir, exampleUrl: app.url }));
  }

  private say(text: string): void {
    this.stage.screen.write(`${text}\n`);
  }

  private heading(text: string): void {
    this.say(styled(this.stage.screen, 'bold', text));
  }

  private async look(): Promise<void> {
    await pause(LOOK_EVERY_MS, undefined, { signal: this.stage.signal });
  }

  /** Tells the run, and those that it invokes, from where it is until it ends or `isEnough`. Resolves with its journal. */
  private async follow(workflowRunId: string, options: FollowOptions = {}): Promise<RunJournal> {
    const { story = new RunStory(this.stage.screen), past, isEnough = () => false } = options;
    for (;;) {
      const journal = await this.client.runs.get(workflowRunId);
      const invoked = await Promise.all(
        (journal.invokedRuns ?? []).map(({ workflowRunId: id, workflowCreatedAt }) =>
          this.client.runs.get(id, { workflowCreatedAt }),
        ),
      );
      const page = pageOf(journal, past === undefined ? {} : { past });
      story.tell(page, ...invoked.map((child) => pageOf(child, { depth: 1, past: page.past })));
      if (journal.workflowState !== 'RUN_STARTED' || isEnough(journal)) return journal;
      await this.look();
    }
  }

  private async trigger(order: DemoOrder, retries: number) {
    return this.client.trigger(this.stage.app.workflowUrl, {
      body: { ...order, customer: CUSTOMER },
      retries,
      retryDelay: RETRY_DELAY,
      labels: ['demo'],
    });
  }

  private async showEarlierRuns(): Promise<void> {
    const { startedAt } = this.stage.service;
    let counted = 0;
    const unfinished: string[] = [];
    for await (const run of this.client.logs()) {
      counted++;
      // One that had little left may have finished before we look; one that was invoked is told with the one that did so.
      const wasUnderWay = (run.workflowRunCompletedAt ?? startedAt) >= startedAt;
      if (wasUnderWay && run.workflowRunOrigin?.kind !== 'invoke') unfinished.push(run.workflowRunId);
      if (counted === MAX_COUNTED) break;
    }
    if (counted === 0) return;
    const number = counted === MAX_COUNTED ? `${counted} runs or more` : counted === 1 ? 'One run' : `${counted} runs`;
    this.say(`${number} from earlier starts ${counted === 1 ? 'is' : 'are'} in the store.\n`);
    if (unfinished.length === 0) return;
    const them = counted === 1 ? 'It' : unfinished.length === 1 ? 'One of them' : `${unfinished.length} of them`;
    this.heading(
      `${them} had not finished when the service stopped, and ${unfinished.length === 1 ? 'continues' : 'continue'} after the last recorded step.`,
    );
    const past = { until: startedAt, words: 'recorded before the service stopped' };
    const until = Date.now() + FOLLOW_EARLIER_MS;
    const isEnough = (journal: RunJournal) => Date.now() > until || waitMs(journal) > MAX_WAIT_MS;
    for (const workflowRunId of unfinished.slice(0, MAX_FOLLOWED)) {
      this.say(`   ${workflowRunId}`);
      this.tellEnd(await this.follow(workflowRunId, { past, isEnough }));
    }
    this.say('');
  }

  private tellEnd(journal: RunJournal): void {
    const { screen } = this.stage;
    if (journal.workflowState === 'RUN_STARTED') {
      this.say(`   ${standing(journal)}; details: npx everstep runs explain ${journal.workflowRunId}`);
      return;
    }
    const took = duration((journal.workflowRunCompletedAt ?? journal.workflowCreatedAt) - journal.workflowCreatedAt);
    if (journal.workflowState === 'RUN_SUCCESS') {
      this.say(`   ${styled(screen, 'green', 'RUN_SUCCESS')} after ${took}: ${JSON.stringify(journal.result)}`);
    } else {
      this.say(`   ${styled(screen, 'red', journal.workflowState)} after ${took}${journal.error ? `: ${journal.error}` : ''}`);
    }
  }

  private async showOrder(): Promise<void> {
    const { app, screen } = this.stage;
    this.heading('1. An order paid by card. Steps marked ‖ run in parallel. The first request to the card processor fails.');
    const orderId = `card-${Date.now().toString(36)}`;
    const lines = [
      { product: 'book', quantity: 2 },
      { product: 'lamp', quantity: 1 },
    ];
    const { workflowRunId } = await this.trigger({ orderId, payWith: 'card', lines }, 3);
    this.say(`   triggered ${app.workflowUrl} as ${workflowRunId}`);
    const story = new RunStory(screen);
    const waiting = await this.follow(workflowRunId, { story, isEnough: (journal) => eventOf(journal) !== undefined });
    const eventId = eventOf(waiting);
    if (eventId !== undefined) await this.confirm(eventId);
    this.tellEnd(await this.follow(workflowRunId, { story }));
    this.say('');
  }

  private async confirm(eventId: string): Promise<void> {
    await pause(THINKING_MS, undefined, { signal: this.stage.signal });
    this.say('     After two seconds the customer confirms the order with this command (run the export line below first):');
    this.say(`     ${notifyCommand(eventId, CUSTOMER)}`);
    await this.client.notify({ eventId, eventData: { by: CUSTOMER } });
  }

  private async showFailureAndResume(): Promise<void> {
    const { app, signal, screen } = this.stage;
    this.heading('2. An order paid by bank transfer. The payment service of the bank is down.');
    const lines = [{ product: 'book', quantity: 1 }];
    const { workflowRunId } = await this.trigger({ orderId: `bank-${Date.now().toString(36)}`, payWith: 'bank', lines }, 2);
    this.say(`   triggered as ${workflowRunId}`);
    const failed = await this.follow(workflowRunId);
    this.tellEnd(failed);
    const { messages } = await this.client.dlq.list({ workflowRunId });
    const [entry] = messages;
    if (!entry) throw new Error(`the run ${workflowRunId} ended as ${failed.workflowState} and is not in the dead letter queue`);
    this.say(`   the run is in the dead letter queue as ${styled(screen, 'yellow', entry.dlqId)}`);
    await this.showFailureFunction(entry);
    this.say('');

    this.heading('3. The bank is up again, and the run is resumed. Completed steps are kept; only the other steps run.');
    await fetch(`${app.url}/bank/up`, { method: 'POST', signal });
    const resumed = await this.client.dlq.resume(entry.dlqId);
    this.say(`   resumed as ${resumed.workflowRunId}`);
    this.tellEnd(await this.follow(resumed.workflowRunId));
    this.say('');
  }

  /** The workflow has one: the service has called it, or is about to. */
  private async showFailureFunction({ dlqId, workflowRunId }: DeadLetterEntry): Promise<void> {
    const { app, signal } = this.stage;
    const giveUpAt = performance.now() + CALLBACK_PATIENCE_MS;
    let entry = await this.client.dlq.get(dlqId);
    while (entry.failureFunctionState === 'CALLBACK_INPROGRESS' && performance.now() < giveUpAt) {
      await this.look();
      entry = await this.client.dlq.get(dlqId);
    }
    this.say(`   the failure function was called: ${entry.failureFunctionState ?? 'none'}`);
    const response = await fetch(`${app.url}/apologies/${workflowRunId}`, { signal });
    if (!response.ok) return;
    const { apology } = (await response.json()) as { readonly apology: string };
    this.say(`     the shop sent this mail: ${apology}`);
  }
}
