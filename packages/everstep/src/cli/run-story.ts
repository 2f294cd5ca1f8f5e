/** Tells what happens in a run as it happens, from its journal looked at again and again. */
import { duration, printable, type Screen, shorten, styled } from './output.js';

/** What is told of a recorded step. Times in Unix ms. */
export interface StoryStep {
  readonly stepId: number;
  readonly name: string;
  readonly type: string;
  readonly messageId: string;
  readonly concurrent: number;
  readonly createdAt: number;
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

export interface StorySleep {
  readonly stepId: number;
  readonly name: string;
  readonly concurrent: number;
  readonly createdAt: number;
  readonly wakeAt: number;
}

/** What happened earlier than what is being told. */
export interface StoryPast {
  /** Unix ms at which the telling begins. */
  readonly until: number;
  /** What is said of steps that were recorded before that. */
  readonly words: string;
}

export interface StoryPage {
  readonly past: StoryPast | null;
  readonly steps: readonly StoryStep[];
  readonly attempts: readonly StoryAttempt[];
  readonly sleeps: readonly StorySleep[];
}

const NAME_WIDTH = 20;
const MAX_ERROR_LENGTH = 100;

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

  /** Tells what is new on this page, in the order in which it happened. */
  tell(page: StoryPage): void {
    const lines: Line[] = [];
    const once = (key: string, at: number, text: () => string) => {
      if (this.told.has(key)) return;
      this.told.add(key);
      lines.push({ at, text: text() });
    };
    const since = page.past?.until ?? 0;
    for (const step of page.steps) once(`step ${step.stepId}`, step.completedAt, () => this.stepLine(step, page));
    for (const attempt of page.attempts) {
      if (attempt.at < since) continue;
      once(`attempt ${attempt.messageId} ${attempt.retried}`, attempt.at, () => this.attemptLine(attempt));
    }
    for (const sleep of page.sleeps) once(`sleep ${sleep.stepId}`, sleep.createdAt, () => this.sleepLine(sleep));
    for (const { text } of lines.sort((a, b) => a.at - b.at)) this.screen.write(`   ${text}\n`);
  }

  private stepLine(step: StoryStep, page: StoryPage): string {
    const { past } = page;
    if (past && step.completedAt < past.until) {
      return styled(this.screen, 'dim', `= ${this.subject(step.name, step.concurrent)}  ${past.words}`);
    }
    const failed = page.attempts.filter(({ messageId }) => messageId === step.messageId);
    const startedAt = Math.max(failed.at(-1)?.retryAt ?? step.createdAt, past?.until ?? 0);
    const attempt = failed.length === 0 ? '' : `, attempt ${failed.length + 1}`;
    const took = duration(Math.max(0, step.completedAt - startedAt));
    const text = step.type.startsWith('Sleep') ? `slept ${took}` : `done in ${took}${attempt}`;
    return `${styled(this.screen, 'green', '✓')} ${this.subject(step.name, step.concurrent)}  ${text}`;
  }

  private attemptLine({ name, retried, message, at, retryAt }: StoryAttempt): string {
    const next = retryAt === null ? 'no attempt is left' : `again in ${duration(retryAt - at)}`;
    const words = `attempt ${retried + 1} failed: ${shorten(printable(message), MAX_ERROR_LENGTH)}; ${next}`;
    return `${styled(this.screen, 'red', '✗')} ${this.subject(name ?? '(workflow code)', 1)}  ${words}`;
  }

  private sleepLine({ name, concurrent, createdAt, wakeAt }: StorySleep): string {
    const text = `sleeps ${duration(wakeAt - createdAt)}; nothing runs meanwhile`;
    return `${styled(this.screen, 'yellow', '…')} ${this.subject(name, concurrent)}  ${text}`;
  }

  private subject(name: string, concurrent: number): string {
    const mark = concurrent > 1 ? '‖' : ' ';
    return `${mark} ${printable(name).padEnd(NAME_WIDTH)}`;
  }
}
