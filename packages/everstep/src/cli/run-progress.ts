/** Prints the progress of a run by polling its journal. */
import { duration, printable, type Screen, shorten, styled } from './output.js';

/** Describes how a step ended, for steps that do more than execute code. */
export type ProgressOutcome =
  | { readonly kind: 'slept' }
  /** The event arrived, or the wait timed out. */
  | { readonly kind: 'event'; readonly hasTimedOut: boolean }
  /** Status of the response to a call; 0 if there was no response. */
  | { readonly kind: 'response'; readonly status: number }
  /** The invoked run has ended. */
  | { readonly kind: 'run' };

/** A recorded step. Times in Unix ms. */
export interface ProgressStep {
  readonly stepId: number;
  readonly name: string;
  readonly outcome: ProgressOutcome | null;
  readonly messageId: string;
  readonly concurrent: number;
  readonly createdAt: number;
  /** Start of the successful attempt; null if no request was sent, or if the time is unknown. */
  readonly startedAt: number | null;
  readonly completedAt: number;
}

/** A failed attempt. */
export interface ProgressAttempt {
  /** Name of the step; null if code between steps failed. */
  readonly name: string | null;
  readonly messageId: string;
  /** Number of failed attempts before this one. */
  readonly retried: number;
  readonly at: number;
  readonly message: string;
  /** Null for the last attempt. */
  readonly retryAt: number | null;
}

/** A planned step that waits for a time, an event or a run. */
export interface ProgressWait {
  readonly stepId: number;
  readonly name: string;
  readonly concurrent: number;
  readonly createdAt: number;
  readonly target:
    | { readonly kind: 'time'; readonly until: number }
    | { readonly kind: 'event'; readonly eventIds: readonly string[]; readonly until: number }
    | { readonly kind: 'run'; readonly workflowRunId: string };
}

/** Describes the steps that were recorded before the first read. */
export interface EarlierSteps {
  /** Time of the first read in Unix ms. */
  readonly until: number;
  /** Text that is printed for these steps. */
  readonly text: string;
}

/** State of a run at the time of a read. */
export interface ProgressPage {
  /** Identifies the run if several are printed together. */
  readonly workflowRunId: string;
  /** 0 for the run itself, 1 for runs that it invoked. */
  readonly depth: number;
  readonly past: EarlierSteps | null;
  readonly steps: readonly ProgressStep[];
  readonly attempts: readonly ProgressAttempt[];
  readonly waits: readonly ProgressWait[];
}

const NAME_WIDTH = 20;
const MAX_ERROR_LENGTH = 100;

const INDENT = '     ';

function outcomeText(outcome: ProgressOutcome | null, durationText: string): string {
  switch (outcome?.kind) {
    case 'slept':
      return `slept ${durationText}`;
    case 'event':
      return outcome.hasTimedOut ? `timed out after ${durationText} without an event` : `event received after ${durationText}`;
    case 'response':
      return outcome.status === 0 ? `no response after ${durationText}` : `status ${outcome.status} after ${durationText}`;
    case 'run':
      return `invoked run ended after ${durationText}`;
    case undefined:
      return `done in ${durationText}`;
  }
}

function waitText({ target, createdAt }: ProgressWait): string {
  switch (target.kind) {
    case 'time':
      return `sleeping for ${duration(target.until - createdAt)}; no code is running`;
    case 'event': {
      const events = target.eventIds.map(printable).join(' or ');
      return `waiting for event ${events} (timeout ${duration(target.until - createdAt)}); no code is running`;
    }
    case 'run':
      return `invoked run ${printable(target.workflowRunId)}`;
  }
}

interface Line {
  readonly at: number;
  readonly text: string;
}

export class RunProgressPrinter {
  private readonly screen: Screen;
  private readonly printedEvents = new Set<string>();

  constructor(screen: Screen) {
    this.screen = screen;
  }

  /** Prints what is new on these pages, in chronological order. */
  print(...pages: readonly ProgressPage[]): void {
    const lines = pages.flatMap((page) => this.newLines(page)).sort((a, b) => a.at - b.at);
    for (const { text } of lines) this.screen.write(`   ${text}\n`);
  }

  private newLines(page: ProgressPage): readonly Line[] {
    const lines: Line[] = [];
    const indent = INDENT.repeat(page.depth);
    const addOnce = (event: string, at: number, text: () => string) => {
      const key = `${page.workflowRunId} ${event}`;
      if (this.printedEvents.has(key)) return;
      this.printedEvents.add(key);
      lines.push({ at, text: `${indent}${text()}` });
    };
    const since = page.past?.until ?? 0;
    for (const step of page.steps) addOnce(`step ${step.stepId}`, step.completedAt, () => this.stepLine(step, page));
    for (const attempt of page.attempts) {
      if (attempt.at < since) continue;
      addOnce(`attempt ${attempt.messageId} ${attempt.retried}`, attempt.at, () => this.attemptLine(attempt));
    }
    for (const wait of page.waits) addOnce(`wait ${wait.stepId}`, wait.createdAt, () => this.waitLine(wait));
    return lines;
  }

  private stepLine(step: ProgressStep, page: ProgressPage): string {
    const { past } = page;
    if (past && step.completedAt < past.until) {
      return styled(this.screen, 'dim', `= ${this.subjectText(step.name, step.concurrent)}  ${past.text}`);
    }
    const failedAttempts = page.attempts.filter(({ messageId }) => messageId === step.messageId);
    const startedAt = Math.max(step.startedAt ?? failedAttempts.at(-1)?.retryAt ?? step.createdAt, past?.until ?? 0);
    const attemptText = failedAttempts.length === 0 ? '' : `, attempt ${failedAttempts.length + 1}`;
    const durationText = duration(Math.max(0, step.completedAt - startedAt));
    const text = `${outcomeText(step.outcome, durationText)}${attemptText}`;
    return `${styled(this.screen, 'green', '✓')} ${this.subjectText(step.name, step.concurrent)}  ${text}`;
  }

  private attemptLine({ name, retried, message, at, retryAt }: ProgressAttempt): string {
    const nextText = retryAt === null ? 'no attempts left' : `retry in ${duration(retryAt - at)}`;
    const text = `attempt ${retried + 1} failed: ${shorten(printable(message), MAX_ERROR_LENGTH)}; ${nextText}`;
    return `${styled(this.screen, 'red', '✗')} ${this.subjectText(name ?? '(workflow code)', 1)}  ${text}`;
  }

  private waitLine(wait: ProgressWait): string {
    return `${styled(this.screen, 'yellow', '…')} ${this.subjectText(wait.name, wait.concurrent)}  ${waitText(wait)}`;
  }

  private subjectText(name: string, concurrent: number): string {
    const mark = concurrent > 1 ? '‖' : ' ';
    return `${mark} ${printable(name).padEnd(NAME_WIDTH)}`;
  }
}
