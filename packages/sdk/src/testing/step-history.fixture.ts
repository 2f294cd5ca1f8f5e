/**
 * Checks what the code of runs has seen. Each execution of a step gets a token of its own, and its recorded result carries
 * that token, together with the tokens of all results that the code had been given before. So it shows when two observers
 * of one step, a later step, the result of the run or a replay, were given different results, or one that was not recorded.
 */

/** Tokens of the results that the code had been given, by the names of their steps. */
export type Seen = Readonly<Record<string, string>>;

/** What is recorded of a step that was executed. */
export interface Witnessed<T> {
  readonly value: T;
  readonly token: string;
  readonly seen: Seen;
}

/** What a run returns. */
export interface WitnessedEnd<T> {
  readonly result: T;
  readonly seen: Seen;
}

interface Execution {
  readonly step: string;
  readonly token: string;
  readonly seen: Seen;
}

/** A step as it was recorded; `out` is its result, null or undefined when it has none. */
export interface RecordedOut {
  readonly name: string;
  readonly out: unknown;
}

const isWitnessed = (out: unknown): out is Witnessed<unknown> =>
  typeof out === 'object' && out !== null && 'token' in out && 'seen' in out;

/** What a run returned, when its code ended through `StepWitness.end`. */
export function witnessedEnd(result: unknown): WitnessedEnd<unknown> | null {
  if (typeof result !== 'object' || result === null || !('seen' in result)) return null;
  const { seen } = result;
  if (typeof seen !== 'object' || seen === null) return null;
  const tokens = Object.entries(seen).map(([step, token]): [string, string] => [step, String(token)]);
  return { result: 'result' in result ? result.result : undefined, seen: Object.fromEntries(tokens) };
}

/** One execution of the code of a run, from its start: a replay has one of its own. */
export class StepWitness {
  private readonly executed: (step: string, seen: Seen) => string;
  private readonly seen: Record<string, string> = {};

  constructor(executed: (step: string, seen: Seen) => string) {
    this.executed = executed;
  }

  /** Has a step run by `take`, which is given the action to record; returns what `work` came to. */
  async run<T>(
    step: string,
    take: (action: () => Promise<Witnessed<T>>) => Promise<Witnessed<T>>,
    work: () => T | Promise<T>,
  ): Promise<T> {
    const witnessed = await take(async () => {
      const seen = { ...this.seen };
      const token = this.executed(step, seen);
      return { value: await work(), token, seen };
    });
    this.seen[step] = witnessed.token;
    return witnessed.value;
  }

  /** Notes the outcome of a step that the service carries out. */
  saw(step: string, outcome: unknown): void {
    this.seen[step] = JSON.stringify(outcome) ?? 'undefined';
  }

  end<T>(result: T): WitnessedEnd<T> {
    return { result, seen: { ...this.seen } };
  }
}

export class StepHistory {
  private tokens = 0;
  private readonly executions = new Map<string, Execution[]>();

  /** Called where the code of a run starts, also when it only replays. `run` names the run for all time. */
  witness(run: string): StepWitness {
    return new StepWitness((step, seen) => {
      const token = `${step}#${++this.tokens}`;
      const executions = this.executions.get(run) ?? [];
      executions.push({ step, token, seen });
      this.executions.set(run, executions);
      return token;
    });
  }

  /** Executions of steps so far, of runs that were not checked. */
  executionsOf(run: string): number {
    return this.executions.get(run)?.length ?? 0;
  }

  /**
   * Returns what is wrong with the history of a run, each in a sentence; empty when all observers agree with the journal.
   * Forgets the run. `end` is what it returned, when it has.
   */
  problems(run: string, recorded: readonly RecordedOut[], end?: WitnessedEnd<unknown>): readonly string[] {
    const truth = new Map<string, string>();
    const problems: string[] = [];
    for (const { name, out } of recorded) {
      if (truth.has(name)) problems.push(`step "${name}" is recorded twice`);
      if (isWitnessed(out)) truth.set(name, out.token);
    }
    const names = new Set(recorded.map(({ name }) => name));
    const look = (observer: string, seen: Seen): void => {
      for (const [step, token] of Object.entries(seen)) {
        const known = truth.get(step);
        // What the service carried out has no token in the journal: all who saw it have to agree.
        if (known === undefined && names.has(step)) truth.set(step, token);
        else if (known !== token) problems.push(`${observer} saw ${token}, but "${step}" is recorded as ${known ?? 'nothing'}`);
      }
    };
    for (const { name, out } of recorded) if (isWitnessed(out)) look(`the recorded step "${name}" (${out.token})`, out.seen);
    for (const { token, seen } of this.executions.get(run) ?? []) look(`the execution ${token}`, seen);
    if (end) look('the end of the run', end.seen);
    this.executions.delete(run);
    return problems.map((problem) => `${run}: ${problem}`);
  }
}
