/** Tells what happens in a run as it happens, from its journal looked at again and again. */
import { duration, printable, type Screen, shorten, styled } from './output.js';

/** How a step ended that is more than done. */
export type StoryOutcome =
  | { readonly kind: 'slept' }
  /** An event came, or did not in time. */
  | { readonly kind: 'event'; readonly timedOut: boolean }
  /** Status of the answer to a call; 0 when none came. */
  | { readonly kind: 'answer'; readonly status: number }
  /** The invoked run has ended. */
  | { readonly kind: 'run' };

/** What is told of a recorded step. Times in Unix ms. */
export interface StoryStep {
  readonly stepId: number;
  readonly name: string;
  readonly outcome: StoryOutcome | null;
  readonly messageId: string;
  readonly concurrent: number;
  readonly createdAt: number;
  /** When the attempt that succeeded was begun; null where nobody was asked, or that is not known. */
  readonly startedAt: number | null;
  readonly completedAt: number;
}

/** A failed attempt. */
export interface StoryAttempt {
  /** Null when the code between steps failed. */
  readonly name: string | null;
  readonly messageId: string;
  /** Failed attempts before this one. */
  readonly retried: number;
  readonly at: number;
  readonly message: string;
  /** Null when it was the last. */
  readonly retryAt: number | null;
}

/** An open step that nothing is done for until something comes true. */
export interface StoryWait {
  readonly stepId: number;
  readonly name: string;
  readonly concurrent: number;
  readonly createdAt: number;
  readonly for:
    | { readonly kind: 'time'; readonly until: number }
    | { readonly kind: 'event'; readonly eventIds: readonly string[]; readonly until: number }
    | { readonly kind: 'run'; readonly workflowRunId: string };
}

/** What happened earlier than what is being told. */
export interface StoryPast {
  /** Unix ms at which the telling begins. */
  readonly until: number;
  /** What is said of steps that were recorded before that. */
  readonly words: string;
}

export interface StoryPage {
  /** Tells this run's steps from those of others that are told together with it. */
  readonly workflowRunId: string;
  /** 0 for the run itself, 1 for those that it invoked. */
  readonly depth: number;
  readonly past: StoryPast | null;
  readonly steps: readonly StoryStep[];
  readonly attempts: readonly StoryAttempt[];
  readonly waits: readonly StoryWait[];
}

const NAME_WIDTH = 20;
const MAX_ERROR_LENGTH = 100;

const INDENT = '     ';

function outcomeWords(outcome: StoryOutcome | null, took: string): string {
  switch (outcome?.kind) {
    case 'slept':
      return `slept ${took}`;
    case 'event':
      return outcome.timedOut ? `no event came in ${took}` : `the event came after ${took}`;
    case 'answer':
      return outcome.status === 0 ? `no answer came in ${took}` : `answered ${outcome.status} in ${took}`;
    case 'run':
      return `its run ended after ${took}`;
    case undefined:
      return `done in ${took}`;
  }
}

function waitWords({ for: awaited, createdAt }: StoryWait): string {
  switch (awaited.kind) {
    case 'time':
      return `sleeps ${duration(awaited.until - createdAt)}; nothing runs meanwhile`;
    case 'event': {
      const events = awaited.eventIds.map(printable).join(' or ');
      return `waits for the event ${events}, ${duration(awaited.until - createdAt)} at most; nothing runs meanwhile`;
    }
    case 'run':
      return `invoked the run ${printable(awaited.workflowRunId)}`;
  }
}

interface Line {
  readonly at: number;
  readonly text: string;
}

export class RunStory {
  private readonly screen: Screen;
  private readonly told = new Set<string>();

  constructor(screen: Screen) {
    this.screen = screen;
  }

  /** Tells what is new on these pages, in the order in which it happened. */
  tell(...pages: readonly StoryPage[]): void {
    const lines = pages.flatMap((page) => this.news(page)).sort((a, b) => a.at - b.at);
    for (const { text } of lines) this.screen.write(`   ${text}\n`);
  }

  private news(page: StoryPage): readonly Line[] {
    const lines: Line[] = [];
    const indent = INDENT.repeat(page.depth);
    const once = (what: string, at: number, text: () => string) => {
      const key = `${page.workflowRunId} ${what}`;
      if (this.told.has(key)) return;
      this.told.add(key);
      lines.push({ at, text: `${indent}${text()}` });
    };
    const since = page.past?.until ?? 0;
    for (const step of page.steps) once(`step ${step.stepId}`, step.completedAt, () => this.stepLine(step, page));
    for (const attempt of page.attempts) {
      if (attempt.at < since) continue;
      once(`attempt ${attempt.messageId} ${attempt.retried}`, attempt.at, () => this.attemptLine(attempt));
    }
    for (const wait of page.waits) once(`wait ${wait.stepId}`, wait.createdAt, () => this.waitLine(wait));
    return lines;
  }

  private stepLine(step: StoryStep, page: StoryPage): string {
    const { past } = page;
    if (past && step.completedAt < past.until) {
      return styled(this.screen, 'dim', `= ${this.subject(step.name, step.concurrent)}  ${past.words}`);
    }
    const failed = page.attempts.filter(({ messageId }) => messageId === step.messageId);
    const startedAt = Math.max(step.startedAt ?? failed.at(-1)?.retryAt ?? step.createdAt, past?.until ?? 0);
    const attempt = failed.length === 0 ? '' : `, attempt ${failed.length + 1}`;
    const took = duration(Math.max(0, step.completedAt - startedAt));
    const words = `${outcomeWords(step.outcome, took)}${attempt}`;
    return `${styled(this.screen, 'green', '✓')} ${this.subject(step.name, step.concurrent)}  ${words}`;
  }

  private attemptLine({ name, retried, message, at, retryAt }: StoryAttempt): string {
    const next = retryAt === null ? 'no attempt is left' : `again in ${duration(retryAt - at)}`;
    const words = `attempt ${retried + 1} failed: ${shorten(printable(message), MAX_ERROR_LENGTH)}; ${next}`;
    return `${styled(this.screen, 'red', '✗')} ${this.subject(name ?? '(workflow code)', 1)}  ${words}`;
  }

  private waitLine(wait: StoryWait): string {
    return `${styled(this.screen, 'yellow', '…')} ${this.subject(wait.name, wait.concurrent)}  ${waitWords(wait)}`;
  }

  private subject(name: string, concurrent: number): string {
    const mark = concurrent > 1 ? '‖' : ' ';
    return `${mark} ${printable(name).padEnd(NAME_WIDTH)}`;
  }
}
