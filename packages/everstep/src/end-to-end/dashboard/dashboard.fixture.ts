/**
 * Test environment for the dashboard: a server with its own directory, workflows that succeed or fail as tests require, and a
 * signed-in browser. `EVERSTEP_SCREENSHOTS=<directory>` saves screenshots.
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
import { ServerProcess } from '../service-process.fixture.js';

export interface Viewport {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: 'light' | 'dark';
  /** Whether the device has a touch screen. */
  readonly hasTouch?: boolean;
  /** Window whose session is copied. */
  readonly like?: Window;
}

/** Viewports in which pages are checked. With screenshots, `EVERSTEP_SCREENSHOTS` adds an intermediate one. */
export const VIEWPORTS: Readonly<Record<string, Viewport>> = {
  '1440-light': { width: 1440, height: 900, theme: 'light' },
  '390-dark': { width: 390, height: 844, theme: 'dark' },
  ...(process.env.EVERSTEP_SCREENSHOTS ? { '900-dark': { width: 900, height: 800, theme: 'dark' } } : {}),
};

const AXE_SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Timeout for a page to show its content. It is generous because the actual time depends on the load of the machine. */
const PAGE_TIMEOUT_MS = 60_000;

/**
 * Polls until the value is `expected` and fails with the last difference after a timeout. Use it for everything on a page that may
 * change slightly later than the condition awaited before.
 */
export async function waitUntilEqual<Value>(read: () => Promise<Value>, expected: Value, what?: string): Promise<void> {
  const endsAt = performance.now() + PAGE_TIMEOUT_MS;
  for (;;) {
    const value = await read();
    if (isDeepStrictEqual(value, expected)) return;
    if (performance.now() > endsAt) assert.deepEqual(value, expected, what);
    await pause(50);
  }
}

/** Result of axe, as far as the tests use it. */
type Violations = readonly {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string }[];
}[];

/** Faults of the workflows. Tests switch them on and off. */
export interface Faults {
  /** `charge` fails: the payment service responds with 503. */
  payments: boolean;
  /** `reserve` fails: the deployed code throws. */
  stock: boolean;
  /** `ship` fails without retries: an address is rejected. */
  address: boolean;
}

interface Order {
  readonly id: number;
  readonly items?: number;
}

/** Workflows of a shop, with every kind of step. */
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
      if (faults.address) throw new NonRetryableError(`address of order ${id} is invalid: no such street`);
      return `parcel ${stock.shelf} ${payment.charge}`;
    });
    return { shipped };
  });
  const approval = serve<Order, string>(async (context) => {
    await context.run('ask', () => 'asked');
    const decision = await context.waitForEvent('approved', `approval/${context.payload.id}`, { timeout: '2d' });
    return decision.timeout ? 'timed out' : 'approved';
  });
  const long = serve<{ readonly steps: number; readonly failsAfterwards?: boolean }, number>(async (context) => {
    const { steps, failsAfterwards = false } = context.payload;
    for (let step = 1; step <= steps; step++) await context.run(`step ${step}`, () => step);
    if (failsAfterwards) throw new Error('failed after all steps');
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

export class DashboardHarness {
  readonly service: ServerProcess;
  readonly client: Client;
  readonly faults: Faults;
  /** URLs of the workflows. */
  readonly urls: Readonly<Record<WorkflowPath, string>>;
  private readonly workflows: WorkflowServer<WorkflowPath>;
  private readonly browser: Browser | null;
  private readonly contexts: BrowserContext[] = [];

  private constructor(service: ServerProcess, workflows: WorkflowServer<WorkflowPath>, faults: Faults, browser: Browser | null) {
    this.service = service;
    this.workflows = workflows;
    this.urls = workflows.urls;
    this.faults = faults;
    this.browser = browser;
    this.client = new Client({ baseUrl: this.variable('EVERSTEP_URL'), token: this.variable('EVERSTEP_TOKEN') });
  }

  /** Starts a server and the workflows. `browser` is null if the test opens no windows. */
  static async open(browser: Browser | null, settings: Readonly<Record<string, string>> = {}): Promise<DashboardHarness> {
    const service = await ServerProcess.create(settings);
    await service.start();
    const faults: Faults = { payments: false, stock: false, address: false };
    const handlers: Readonly<Record<WorkflowPath, WorkflowHandler>> = workflowsOf(faults);
    return new DashboardHarness(service, await serveWorkflows(handlers), faults, browser);
  }

  variable(name: string): string {
    const value = this.service.env.get(name);
    if (value === undefined) throw new Error(`the server printed no ${name}`);
    return value;
  }

  /** Triggers a run of one of the workflows. */
  triggerAt(path: WorkflowPath, options: TriggerOptions): ReturnType<Client['trigger']> {
    return this.client.trigger(this.urls[path], options);
  }

  /** Base URL of the dashboard. */
  get url(): string {
    return this.variable('EVERSTEP_MANAGEMENT_URL');
  }

  async close(): Promise<void> {
    for (const context of this.contexts) await context.close();
    await this.workflows.stop();
    await this.service.dispose();
  }

  /** Opens a window that is not signed in. Its errors are collected in `problems`. */
  async window({ width = 1440, height = 900, theme = 'light', hasTouch = false, like }: Viewport = {}): Promise<Window> {
    if (this.browser === null) throw new Error('there is no browser for windows');
    const context = await this.browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      hasTouch: hasTouch,
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

  /** Opens a window that is signed in as the first user and shows the overview. */
  async signedIn(viewport: Viewport = {}): Promise<Window> {
    const window = await this.window(viewport);
    await window.page.goto('/');
    await window.signIn(this.variable('EVERSTEP_ADMIN_EMAIL'), this.variable('EVERSTEP_ADMIN_API_KEY'));
    return window;
  }

  /** Waits until the run has ended. Rejects after a timeout that suffices for a slow machine. */
  async waitForEnd(workflowRunId: string): Promise<void> {
    for (let waits = 0; waits < 6; waits++) {
      const { workflowState } = await this.client.runs.result(workflowRunId, { timeout: '20s' });
      if (workflowState !== 'RUN_STARTED') return;
    }
    throw new Error(`the run ${workflowRunId} does not end`);
  }

  /** Creates runs of every kind: succeeded, failed in three ways, waiting, retrying, long, and one that invokes another. */
  async seed({ steps = 60, letters = 3 }: { readonly steps?: number; readonly letters?: number } = {}): Promise<SeededRuns> {
    const options = { retries: 0 } as const;
    const trigger = async (path: WorkflowPath, body: unknown, overrides: TriggerOptions = {}): Promise<string> =>
      (await this.triggerAt(path, { body, ...options, ...overrides })).workflowRunId;
    const good = await trigger('/order', { id: 1, items: 2 }, { labels: ['shop', 'eu'] });
    await this.waitForEnd(good);
    const failed: string[] = [];
    for (const fault of ['payments', 'stock', 'address'] as const) {
      this.faults[fault] = true;
      for (let letter = 0; letter < letters; letter++) {
        const id = await trigger(
          '/order',
          { id: 100 + failed.length },
          { labels: ['shop'], flowControl: { key: 'orders', parallelism: 10 } },
        );
        await this.waitForEnd(id);
        failed.push(id);
      }
      this.faults[fault] = false;
    }
    const waiting = await trigger('/approval', { id: 5 });
    const retrying = await trigger('/flaky', { id: 6 }, { retries: 5, retryDelay: '3600000' });
    const long = await trigger('/long', { steps });
    const parent = await trigger('/parent', { child: this.urls['/order'] });
    await this.waitForEnd(long);
    await this.waitForEnd(parent);
    return { good, failed, waiting, retrying, long, parent };
  }
}

/** Ids of the seeded runs. */
export interface SeededRuns {
  readonly good: string;
  readonly failed: readonly string[];
  readonly waiting: string;
  readonly retrying: string;
  readonly long: string;
  readonly parent: string;
}

/** Resolves when no animation or transition is running, except endless ones. */
const ANIMATIONS_ENDED = `Promise.all(document.getAnimations()
  .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity)
  .map(({ finished }) => finished.catch(() => {}))).then(() => true)`;

/** A finding of axe as one line. */
export type Finding = string;

export class Window {
  readonly page: Page;
  /** Script errors and console errors, including violations of the content security policy. */
  readonly problems: string[] = [];
  /** Pending requests, except the live stream, which stays open. */
  private readonly pendingRequests = new Set<Request>();

  constructor(page: Page) {
    this.page = page;
    page.on('request', (request) => {
      if (!request.url().includes('/v2/live')) this.pendingRequests.add(request);
    });
    for (const end of ['requestfinished', 'requestfailed'] as const) {
      page.on(end as 'requestfinished', (request) => this.pendingRequests.delete(request));
    }
    page.on('pageerror', (error) => this.problems.push(error.message));
    page.on('console', (message) => {
      // The browser also logs failed requests as errors; the pages show those themselves.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) this.problems.push(message.text());
    });
  }

  async signIn(email: string, apiKey: string): Promise<void> {
    await this.page.getByLabel('Email').fill(email);
    await this.page.getByLabel('API key').fill(apiKey);
    await this.page.getByRole('button', { name: 'Sign in' }).click();
    await this.page.waitForURL('**/q/**');
    await this.waitUntilSettled();
  }

  /** Opens a page of the instance, such as `runs` or `dead-letters?state=new`. */
  async goTo(page: string): Promise<void> {
    const [, , instanceId = ''] = new URL(this.page.url()).pathname.split('/');
    await this.page.goto(`/q/${instanceId}/${page}`);
    await this.waitUntilSettled();
  }

  /** Waits until the page shows its heading and all requested data. */
  async waitUntilSettled(): Promise<void> {
    await this.page.locator('h1').first().waitFor();
    // A response is rendered in the next frame and can trigger another request.
    for (let quiet = 0; quiet < 3; quiet = this.pendingRequests.size === 0 ? quiet + 1 : 0) {
      await this.page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
      await this.page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
    }
  }

  /** Loads the page in each of the `VIEWPORTS` and calls `check`. Reloading avoids the color transitions of a theme switch. */
  async inEachViewport(page: string, check: (viewport: string) => Promise<void>): Promise<void> {
    for (const [viewport, { width = 1440, height = 900, theme = 'light' }] of Object.entries(VIEWPORTS)) {
      this.problems.length = 0;
      await this.page.setViewportSize({ width, height });
      await this.page.emulateMedia({ colorScheme: theme });
      await this.goTo(page);
      await check(viewport);
    }
  }

  /** Returns the search parameters of the URL. */
  async parameters(): Promise<Readonly<Record<string, string>>> {
    return Object.fromEntries(new URL(this.page.url()).searchParams);
  }

  /** Saves a screenshot if `EVERSTEP_SCREENSHOTS` is set. `whole` captures the full page. */
  async screenshot(name: string, whole = false): Promise<void> {
    const directory = process.env.EVERSTEP_SCREENSHOTS;
    if (directory === undefined || directory === '') return;
    await mkdir(directory, { recursive: true });
    await this.page.screenshot({ path: join(directory, `${name}.png`), fullPage: whole });
  }

  /**
   * Starts to record layout shifts without user input. Growing time axes and bars and right-aligned texts are ignored.
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

  /** Returns the recorded layout shifts: the score, the element, and its old and new position. */
  async shifts(): Promise<readonly string[]> {
    return this.page.evaluate<readonly string[]>('window.shifts');
  }

  /** Returns all problems of the current page: accessibility, script errors and horizontal overflow. */
  async faults(): Promise<readonly string[]> {
    const [contentWidth = 0, windowWidth = 0] = await this.page.evaluate<[number, number]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    );
    const overflow = contentWidth > windowWidth ? [`${contentWidth} px wide in ${windowWidth} px`] : [];
    return [...(await this.findings()), ...this.problems, ...overflow];
  }

  /** Returns the violations of WCAG 2.2 A and AA and of best practices that axe finds. */
  async findings(): Promise<readonly Finding[]> {
    // The script is evaluated by the debugger, which is exempt from the content security policy of the page.
    if (!(await this.page.evaluate<boolean>('"axe" in window'))) await this.page.evaluate(AXE_SOURCE);
    // A color in transition can have too little contrast.
    await this.page.evaluate(ANIMATIONS_ENDED);
    // All rules are applied, but only violations are returned, which is faster.
    const violations = await this.page.evaluate<Violations>(
      'axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations)',
    );
    return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`));
  }
}
