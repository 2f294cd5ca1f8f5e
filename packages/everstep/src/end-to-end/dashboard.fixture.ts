/**
 * The dashboard as users have it: a service on a directory of its own, workflows that do and fail what tests need, and a
 * browser that is logged in. `EVERSTEP_SCREENSHOTS=<directory>` keeps pictures.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Client, NonRetryableError, serve, type TriggerOptions, type WorkflowHandler } from '@everstep/sdk';
import { serveWorkflows, type WorkflowServer } from '@everstep/sdk/testing';
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { ServiceProcess } from './service-process.fixture.js';

export interface Look {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: 'light' | 'dark';
  /** It has no pointer, but is touched. */
  readonly touched?: boolean;
  /** Whoever is logged in there is so here. */
  readonly like?: Window;
}

/** How pages are checked: wide and light, narrow and dark. The one between is only looked at, where pictures are kept. */
export const LOOKS: Readonly<Record<string, Look>> = {
  '1440-light': { width: 1440, height: 900, theme: 'light' },
  '390-dark': { width: 390, height: 844, theme: 'dark' },
  ...(process.env.EVERSTEP_SCREENSHOTS ? { '900-dark': { width: 900, height: 800, theme: 'dark' } } : {}),
};

const AXE_SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** How long a page may take to show what it has to. How long it really takes only says how busy the machine is. */
const PAGE_TIMEOUT_MS = 60_000;

/**
 * Reads until the value is `expected`; fails with the last difference. For everything on a page that may change a moment
 * after the condition before it was met.
 */
export async function becomes<Value>(read: () => Promise<Value>, expected: Value, what?: string): Promise<void> {
  const endsAt = performance.now() + PAGE_TIMEOUT_MS;
  for (;;) {
    const value = await read();
    if (isDeepStrictEqual(value, expected)) return;
    if (performance.now() > endsAt) assert.deepEqual(value, expected, what);
    await pause(50);
  }
}

/** As far as it is read. */
type Violations = readonly {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string }[];
}[];

/** What the workflows of a world do wrong; a test mends it by setting it. */
export interface Faults {
  /** `charge` fails: the payment service answers 503. */
  payments: boolean;
  /** `reserve` fails: what was deployed last throws. */
  stock: boolean;
  /** `ship` fails for good: an address is refused. */
  address: boolean;
}

interface Order {
  readonly id: number;
  readonly items?: number;
}

/** Workflows of a shop: enough kinds of steps to see every kind of row. */
function workflowsOf(faults: Faults) {
  const order = serve<Order, { shipped: string }>(async (context) => {
    const { id } = context.payload;
    const stock = await context.run('reserve', () => {
      if (faults.stock) throw new NonRetryableError(`TypeError: Cannot read properties of undefined (reading 'sku-${id}')`);
      return { reserved: id, shelf: `A${id % 7}` };
    });
    const [payment] = await Promise.all([
      context.run('charge', () => {
        if (faults.payments) throw new Error(`payment service answered 503 for order ${id}`);
        return { charge: `ch_${id}`, cents: 1999 };
      }),
      context.run('invoice', () => `inv-${id}`),
      context.run('notify-shop', () => null),
    ]);
    await context.sleep('pause', 1);
    const shipped = await context.run('ship', () => {
      if (faults.address) throw new NonRetryableError(`address of order ${id} is refused: no such street`);
      return `parcel ${stock.shelf} ${payment.charge}`;
    });
    return { shipped };
  });
  const approval = serve<Order, string>(async (context) => {
    await context.run('ask', () => 'asked');
    const decision = await context.waitForEvent('approved', `approval/${context.payload.id}`, { timeout: '2d' });
    return decision.timeout ? 'nobody decided' : 'approved';
  });
  const long = serve<{ readonly steps: number; readonly failsAfterwards?: boolean }, number>(async (context) => {
    const { steps, failsAfterwards = false } = context.payload;
    for (let step = 1; step <= steps; step++) await context.run(`step ${step}`, () => step);
    if (failsAfterwards) throw new Error('the steps were for nothing');
    return steps;
  });
  const flaky = serve<Order, string>(async (context) => {
    let failures = 0;
    await context.run('first', () => 'one');
    return context.run('flaky', () => {
      failures++;
      throw new Error(`not yet (${failures})`);
    });
  });
  const parent = serve<{ readonly child: string }, string>(async (context) => {
    const child = await context.invoke<{ shipped: string }>('fulfil', { workflow: context.payload.child, payload: { id: 77 } });
    return child.state;
  });
  return { '/order': order, '/approval': approval, '/long': long, '/flaky': flaky, '/parent': parent } as const;
}

type WorkflowPath = keyof ReturnType<typeof workflowsOf>;

export class DashboardWorld {
  readonly service: ServiceProcess;
  readonly client: Client;
  readonly faults: Faults;
  /** URLs of the workflows. */
  readonly urls: Readonly<Record<WorkflowPath, string>>;
  private readonly workflows: WorkflowServer<WorkflowPath>;
  private readonly browser: Browser;
  private readonly contexts: BrowserContext[] = [];

  private constructor(service: ServiceProcess, workflows: WorkflowServer<WorkflowPath>, faults: Faults, browser: Browser) {
    this.service = service;
    this.workflows = workflows;
    this.urls = workflows.urls;
    this.faults = faults;
    this.browser = browser;
    this.client = new Client({ baseUrl: this.variable('EVERSTEP_URL'), token: this.variable('EVERSTEP_TOKEN') });
  }

  static async open(browser: Browser, settings: Readonly<Record<string, string>> = {}): Promise<DashboardWorld> {
    const service = await ServiceProcess.create(settings);
    await service.start();
    const faults: Faults = { payments: false, stock: false, address: false };
    const handlers: Readonly<Record<WorkflowPath, WorkflowHandler>> = workflowsOf(faults);
    return new DashboardWorld(service, await serveWorkflows(handlers), faults, browser);
  }

  variable(name: string): string {
    const value = this.service.env.get(name);
    if (value === undefined) throw new Error(`the service told of no ${name}`);
    return value;
  }

  /** Triggers a run of one of the workflows. */
  triggerAt(path: WorkflowPath, options: TriggerOptions): ReturnType<Client['trigger']> {
    return this.client.trigger(this.urls[path], options);
  }

  /** Where the pages are. */
  get url(): string {
    return this.variable('EVERSTEP_MANAGEMENT_URL');
  }

  async close(): Promise<void> {
    for (const context of this.contexts) await context.close();
    await this.workflows.stop();
    await this.service.dispose();
  }

  /** A window of its own, not logged in. What goes wrong in it is kept in `problems`. */
  async window({ width = 1440, height = 900, theme = 'light', touched = false, like }: Look = {}): Promise<Window> {
    const context = await this.browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      hasTouch: touched,
      reducedMotion: 'reduce',
      timezoneId: 'Europe/Berlin',
      baseURL: this.url,
      ...(like ? { storageState: await like.page.context().storageState() } : {}),
    });
    this.contexts.push(context);
    context.setDefaultTimeout(PAGE_TIMEOUT_MS);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    return new Window(await context.newPage());
  }

  /** A window that is logged in as the first user and shows the runs. */
  async loggedIn(look: Look = {}): Promise<Window> {
    const window = await this.window(look);
    await window.page.goto('/');
    await window.logIn(this.variable('EVERSTEP_ADMIN_EMAIL'), this.variable('EVERSTEP_ADMIN_API_KEY'));
    return window;
  }

  /** Resolves when the run has ended. Rejects when it goes on for longer than a slow machine needs. */
  async ended(workflowRunId: string): Promise<void> {
    for (let waits = 0; waits < 6; waits++) {
      const { workflowState } = await this.client.runs.result(workflowRunId, { timeout: '20s' });
      if (workflowState !== 'RUN_STARTED') return;
    }
    throw new Error(`the run ${workflowRunId} goes on and on`);
  }

  /** Runs of every kind that pages show: done, failed in three ways, waiting, being retried, long, and one that invoked another. */
  async seed({ steps = 60, letters = 3 }: { readonly steps?: number; readonly letters?: number } = {}): Promise<Seeded> {
    const options = { retries: 0 } as const;
    const trigger = async (path: WorkflowPath, body: unknown, more: TriggerOptions = {}): Promise<string> =>
      (await this.triggerAt(path, { body, ...options, ...more })).workflowRunId;
    const good = await trigger('/order', { id: 1, items: 2 }, { labels: ['shop', 'eu'] });
    await this.ended(good);
    const failed: string[] = [];
    for (const fault of ['payments', 'stock', 'address'] as const) {
      this.faults[fault] = true;
      for (let letter = 0; letter < letters; letter++) {
        const id = await trigger(
          '/order',
          { id: 100 + failed.length },
          { labels: ['shop'], flowControl: { key: 'orders', parallelism: 10 } },
        );
        await this.ended(id);
        failed.push(id);
      }
      this.faults[fault] = false;
    }
    const waiting = await trigger('/approval', { id: 5 });
    const retrying = await trigger('/flaky', { id: 6 }, { retries: 5, retryDelay: '3600000' });
    const long = await trigger('/long', { steps });
    const parent = await trigger('/parent', { child: this.urls['/order'] });
    await this.ended(long);
    await this.ended(parent);
    return { good, failed, waiting, retrying, long, parent };
  }
}

/** Ids of runs. */
export interface Seeded {
  readonly good: string;
  readonly failed: readonly string[];
  readonly waiting: string;
  readonly retrying: string;
  readonly long: string;
  readonly parent: string;
}

/** A finding of axe, in a line. */
export type Finding = string;

export class Window {
  readonly page: Page;
  /** Errors of scripts, and what the browser refused: a policy that was broken is among them. */
  readonly problems: string[] = [];
  /** Requests without an answer yet, except for the live stream, which stays open. */
  private readonly underWay = new Set<Request>();

  constructor(page: Page) {
    this.page = page;
    page.on('request', (request) => {
      if (!request.url().includes('/v2/live')) this.underWay.add(request);
    });
    for (const end of ['requestfinished', 'requestfailed'] as const) {
      page.on(end as 'requestfinished', (request) => this.underWay.delete(request));
    }
    page.on('pageerror', (error) => this.problems.push(error.message));
    page.on('console', (message) => {
      // That an answer was refused is told as an error too; pages show that themselves.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) this.problems.push(message.text());
    });
  }

  async logIn(email: string, apiKey: string): Promise<void> {
    await this.page.getByLabel('E-mail').fill(email);
    await this.page.getByLabel('API key').fill(apiKey);
    await this.page.getByRole('button', { name: 'Log in' }).click();
    await this.page.waitForURL('**/q/**');
    await this.settled();
  }

  /** Goes to a page of the instance: `runs`, `dead-letters?state=new`. */
  async goTo(page: string): Promise<void> {
    const [, , queueId = ''] = new URL(this.page.url()).pathname.split('/');
    await this.page.goto(`/q/${queueId}/${page}`);
    await this.settled();
  }

  /** Waits until the page has its heading and shows everything that it has asked for. */
  async settled(): Promise<void> {
    await this.page.locator('h1').first().waitFor();
    // An answer is shown in the frame after it, and may lead to the next request.
    for (let quiet = 0; quiet < 3; quiet = this.underWay.size === 0 ? quiet + 1 : 0) {
      await this.page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
      await this.page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
    }
  }

  /** Loads the page in each of the `LOOKS`, and calls `check`. Colors of a page whose theme is switched change for a while. */
  async inEachLook(page: string, check: (look: string) => Promise<void>): Promise<void> {
    for (const [look, { width = 1440, height = 900, theme = 'light' }] of Object.entries(LOOKS)) {
      this.problems.length = 0;
      await this.page.setViewportSize({ width, height });
      await this.page.emulateMedia({ colorScheme: theme });
      await this.goTo(page);
      await check(look);
    }
  }

  /** The parameters of the address. */
  async parameters(): Promise<Readonly<Record<string, string>>> {
    return Object.fromEntries(new URL(this.page.url()).searchParams);
  }

  /** A picture, where pictures are kept. `whole`: the page down to its end. */
  async screenshot(name: string, whole = false): Promise<void> {
    const directory = process.env.EVERSTEP_SCREENSHOTS;
    if (directory === undefined || directory === '') return;
    await mkdir(directory, { recursive: true });
    await this.page.screenshot({ path: join(directory, `${name}.png`), fullPage: whole });
  }

  /**
   * From now on, what moves without having been asked to is remembered. A time axis or a bar that grows and a text that is set to the
   * right do not count.
   */
  async watchShifts(): Promise<void> {
    await this.page.evaluate(`
      window.shifts = [];
      new PerformanceObserver((list) => {
        for (const { hadRecentInput, sources, value } of list.getEntries())
          for (const { node, previousRect: from, currentRect: to } of sources) {
            const element = node?.nodeType === Node.TEXT_NODE ? node.parentElement : node;
            const fromTheRight = from.y === to.y && Math.abs(from.right - to.right) < 1;
            if (!hadRecentInput && !fromTheRight && !element?.closest('.timeline-track, .timeline-axis, [data-item]'))
              window.shifts.push(
                \`\${value.toFixed(4)} \${element?.outerHTML.slice(0, 80)}: \${from.x},\${from.y} to \${to.x},\${to.y}\`,
              );
          }
      }).observe({ type: 'layout-shift' });
    `);
  }

  /** What has moved since: how much of the window, what, from where and to where. */
  async shifts(): Promise<readonly string[]> {
    return this.page.evaluate<readonly string[]>('window.shifts');
  }

  /** Everything wrong with the page as it is shown: accessibility, errors of scripts, what is wider than the window. */
  async faults(): Promise<readonly string[]> {
    const [content = 0, room = 0] = await this.page.evaluate<[number, number]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    );
    const tooWide = content > room ? [`${content} px wide in ${room} px`] : [];
    return [...(await this.findings()), ...this.problems, ...tooWide];
  }

  /** What the accessibility check finds wrong, by WCAG 2.2 A and AA and the rules of good practice. */
  async findings(): Promise<readonly Finding[]> {
    // Evaluated by the debugger, which the policy of the page does not bind.
    if (!(await this.page.evaluate<boolean>('"axe" in window'))) await this.page.evaluate(AXE_SOURCE);
    // All rules are applied; of what is as it should be nothing is put together and handed over.
    const violations = await this.page.evaluate<Violations>(
      'axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations)',
    );
    return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`));
  }
}
