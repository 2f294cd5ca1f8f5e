/**
 * Drives Firefox without a display over WebDriver BiDi, which Firefox serves itself: the one named in EVERSTEP_FIREFOX, or that of
 * the system. `EVERSTEP_FIREFOX=none` disables it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { waitUntilEqual } from '../dashboard/dashboard.fixture.js';

/** `missing` explains why there is no browser. */
export type OpenedFirefox =
  | { readonly kind: 'open'; readonly firefox: Firefox }
  | { readonly kind: 'missing'; readonly missing: string };

const PROGRAM_NAMES = ['firefox', 'firefox-esr'];
const LISTENING = /WebDriver BiDi listening on (ws:\/\/\S+)/;
/** Reports violations of the content security policy as console errors. */
const REPORT_VIOLATIONS = `() => document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  console.error('content security policy', violatedDirective, blockedURI))`;
/** Keys as WebDriver names them. */
const KEYS: Readonly<Record<string, string>> = {
  Tab: '\uE004',
  Enter: '\uE007',
  Escape: '\uE00C',
  Control: '\uE009',
  ArrowDown: '\uE015',
};

type Parameters = Readonly<Record<string, unknown>>;
interface Message {
  readonly id?: number;
  readonly type: 'success' | 'error' | 'event';
  readonly method?: string;
  readonly params?: { readonly level?: string; readonly text?: string };
  readonly result?: unknown;
  readonly message?: string;
}
interface PendingCall {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}
interface Node {
  readonly sharedId: string;
}

async function findExecutable(): Promise<string | null> {
  const requestedPath = process.env.EVERSTEP_FIREFOX;
  if (requestedPath !== undefined && requestedPath !== '') return requestedPath === 'none' ? null : requestedPath;
  for (const directory of (process.env.PATH ?? '').split(delimiter))
    for (const name of PROGRAM_NAMES) {
      const path = join(directory, name);
      const isExecutable = await access(path, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (isExecutable) return path;
    }
  return null;
}

/** Returns the address of the socket that Firefox prints when it has started. */
async function addressOf(child: ChildProcess): Promise<string> {
  let output = '';
  for await (const chunk of child.stderr ?? []) {
    output += String(chunk);
    const address = LISTENING.exec(output)?.[1];
    if (address !== undefined) return address;
  }
  throw new Error(`Firefox did not start:\n${output}`);
}

export class Firefox {
  /** Script errors and console errors, including violations of the content security policy. */
  readonly problems: string[] = [];
  private readonly child: ChildProcess;
  private readonly profile: string;
  private readonly socket: WebSocket;
  private readonly pendingCalls = new Map<number, PendingCall>();
  private callCount = 0;
  private context = '';

  private constructor(child: ChildProcess, profile: string, socket: WebSocket) {
    this.child = child;
    this.profile = profile;
    this.socket = socket;
    socket.addEventListener('message', ({ data }) => this.receive(JSON.parse(String(data)) as Message));
  }

  /** Opens a browser with one empty page, or returns why there is none. */
  static async open(): Promise<OpenedFirefox> {
    const path = await findExecutable();
    if (path === null) return { kind: 'missing', missing: 'NO FIREFOX: set EVERSTEP_FIREFOX to test the dashboard in it' };
    const profile = await mkdtemp(join(tmpdir(), 'everstep-firefox-'));
    // Firefox also writes files into the home directory.
    const home = join(profile, 'home');
    await mkdir(home);
    await writeFile(join(profile, 'user.js'), 'user_pref("ui.prefersReducedMotion", 1);\n');
    const child = spawn(path, ['--headless', '--remote-debugging-port', '0', '--no-remote', '--profile', profile], {
      env: { ...process.env, HOME: home, TZ: 'Europe/Berlin', MOZ_DISABLE_CONTENT_SANDBOX: '1' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const socket = new WebSocket(`${await addressOf(child)}/session`);
    await once(socket, 'open');
    const firefox = new Firefox(child, profile, socket);
    await firefox.call('session.new', { capabilities: {} });
    await firefox.call('script.addPreloadScript', { functionDeclaration: REPORT_VIOLATIONS });
    await firefox.call('session.subscribe', { events: ['log.entryAdded'] });
    const { context } = (await firefox.call('browsingContext.create', { type: 'tab' })) as { readonly context: string };
    firefox.context = context;
    return { kind: 'open', firefox };
  }

  private receive({ id, type, method, params, result, message }: Message): void {
    if (method === 'log.entryAdded' && params?.level === 'error') this.problems.push(params.text ?? '');
    const pendingCall = id === undefined ? undefined : this.pendingCalls.get(id);
    if (id === undefined || pendingCall === undefined) return;
    this.pendingCalls.delete(id);
    if (type === 'success') pendingCall.resolve(result);
    else pendingCall.reject(new Error(message));
  }

  private call(method: string, params: Parameters): Promise<unknown> {
    const id = ++this.callCount;
    return new Promise((resolve, reject) => {
      this.pendingCalls.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ id, method, params }));
    });
  }

  /** Calls a method on the page. */
  private onPage(method: string, params: Parameters): Promise<unknown> {
    return this.call(method, { context: this.context, ...params });
  }

  setSize(width: number, height: number): Promise<unknown> {
    return this.onPage('browsingContext.setViewport', { viewport: { width, height } });
  }

  /** Loads a page and waits until it shows its heading and its data. */
  async goTo(url: string): Promise<void> {
    await this.onPage('browsingContext.navigate', { url, wait: 'complete' });
    await this.waitUntilTrue(
      "document.querySelector('h1')?.offsetHeight > 0 && document.querySelector('[aria-busy=true]') === null",
    );
  }

  /** Evaluates an expression whose value is JSON. */
  async evaluate<Value>(expression: string): Promise<Value> {
    const response = (await this.call('script.evaluate', {
      expression: `(async () => JSON.stringify({ value: await (${expression}) }))()`,
      target: { context: this.context },
      awaitPromise: true,
    })) as { readonly result?: { readonly value: string }; readonly exceptionDetails?: { readonly text: string } };
    if (response.result === undefined) throw new Error(response.exceptionDetails?.text);
    return (JSON.parse(response.result.value) as { readonly value: Value }).value;
  }

  /** Waits until an expression is true. */
  waitUntilTrue(expression: string): Promise<void> {
    // Loading a page interrupts an evaluation.
    return waitUntilEqual(() => this.evaluate<boolean>(`Boolean(${expression})`).catch(() => false), true, expression);
  }

  /** Waits until the text is on the page. */
  showsText(text: string): Promise<void> {
    return this.waitUntilTrue(`document.body.innerText.includes(${JSON.stringify(text)})`);
  }

  /** Returns the element with the role and the name, as screen readers announce them, when the page has it. */
  private async find(role: string, name: string): Promise<Node> {
    let node: Node | undefined;
    const locator = { type: 'accessibility', value: { role, name } };
    await waitUntilEqual(
      async () => {
        const { nodes } = (await this.onPage('browsingContext.locateNodes', { locator, maxNodeCount: 1 })) as {
          readonly nodes: readonly Node[];
        };
        [node] = nodes;
        return node !== undefined;
      },
      true,
      `the page has the ${role} ${name}`,
    );
    if (node === undefined) throw new Error(`the page has no ${role} ${name}`);
    await this.call('script.callFunction', {
      functionDeclaration: "(element) => element.scrollIntoView({ block: 'center' })",
      arguments: [node],
      target: { context: this.context },
      awaitPromise: false,
    });
    return node;
  }

  async click(role: string, name: string): Promise<void> {
    const element = await this.find(role, name);
    const origin = { type: 'element', element };
    const actions = [
      { type: 'pointerMove', x: 0, y: 0, origin },
      { type: 'pointerDown', button: 0 },
      { type: 'pointerUp', button: 0 },
    ];
    await this.onPage('input.performActions', { actions: [{ type: 'pointer', id: 'mouse', actions }] });
  }

  /** Drags over the element, from one part of its width to another: -0.5 is its left end, 0.5 its right end. */
  async drag(role: string, name: string, from: number, to: number): Promise<void> {
    const element = await this.find(role, name);
    const origin = { type: 'element', element };
    const response = (await this.call('script.callFunction', {
      functionDeclaration: '(element) => element.getBoundingClientRect().width',
      arguments: [element],
      target: { context: this.context },
      awaitPromise: false,
    })) as { readonly result: { readonly value: number } };
    const at = (part: number): number => Math.round(part * response.result.value);
    const actions = [
      { type: 'pointerMove', x: at(from), y: 0, origin },
      { type: 'pointerDown', button: 0 },
      { type: 'pointerMove', x: at((from + to) / 2), y: 0, origin },
      { type: 'pointerMove', x: at(to), y: 0, origin },
      { type: 'pointerUp', button: 0 },
    ];
    await this.onPage('input.performActions', { actions: [{ type: 'pointer', id: 'mouse', actions }] });
  }

  /** Presses the keys together, such as `Control` and `k`. */
  async press(...keys: readonly string[]): Promise<void> {
    const values = keys.map((key) => KEYS[key] ?? key);
    const actions = [
      ...values.map((value) => ({ type: 'keyDown', value })),
      ...values.toReversed().map((value) => ({ type: 'keyUp', value })),
    ];
    await this.onPage('input.performActions', { actions: [{ type: 'key', id: 'keyboard', actions }] });
  }

  /** Types into the focused field. */
  async type(text: string): Promise<void> {
    for (const character of text) await this.press(character);
  }

  async close(): Promise<void> {
    const exit = once(this.child, 'exit');
    await this.call('browser.close', {}).catch(() => this.child.kill());
    await exit;
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
