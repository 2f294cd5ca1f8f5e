/**
 * Checks the results that the code of runs has received. Each execution of a step creates a unique token. Its
 * recorded result contains that token and the tokens of all results that the code had received before. This detects
 * when two observers of one step received different results, or a result that was not recorded. Observers are later
 * steps, the result of the run and replays.
 */

/** Tokens of the results that the code had received, by step name. */
export type Seen = Readonly<Record<string, string>>;

/** Recorded result of an executed step. */
export interface Witnessed<T> {
  readonly value: T;
  readonly token: string;
  readonly seen: Seen;
}

/** Return value of a run. */
export interface WitnessedEnd<T> {
  readonly result: T;
  readonly seen: Seen;
}

interface Execution {
  readonly step: string;
  readonly token: string;
  readonly seen: Seen;
}

/** A recorded step. `out` is its result; null or undefined if it has none. */
export interface RecordedOut {
  readonly name: string;
  readonly out: unknown;
}

const isWitnessed = (out: unknown): out is Witnessed<unknown> =>
  typeof out === 'object' && out !== null && 'token' in out && 'seen' in out;

/** Returns the return value of a run whose code ended through `StepWitness.end`, otherwise null. */
export function witnessedEnd(result: unknown): WitnessedEnd<unknown> | null {
  if (typeof result !== 'object' || result === null || !('seen' in result)) return null;
  const { seen } = result;
  if (typeof seen !== 'object' || seen === null) return null;
  const tokens = Object.entries(seen).map(([step, token]): [string, string] => [step, String(token)]);
  return { result: 'result' in result ? result.result : undefined, seen: Object.fromEntries(tokens) };
}

/** One execution of the code of a run, from its start. Each replay is a separate one. */
export class StepWitness {
  private readonly executed: (step: string, seen: Seen) => string;
  private readonly seen: Record<string, string> = {};

  constructor(executed: (step: string, seen: Seen) => string) {
    this.executed = executed;
  }

  /** Runs a step through `take`, which receives the action to record. Returns the value of `work`. */
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

  /** Notes the outcome of a step that the service executes. */
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

  /** Called at the start of the code of a run, also for a replay. `run` is a unique name of the run. */
  witness(run: string): StepWitness {
    return new StepWitness((step, seen) => {
      const token = `${step}#${++this.tokens}`;
      const executions = this.executions.get(run) ?? [];
      executions.push({ step, token, seen });
      this.executions.set(run, executions);
      return token;
    });
  }

  /** Returns the number of executions of steps so far, for a run that has not been checked. */
  executionsOf(run: string): number {
    return this.executions.get(run)?.length ?? 0;
  }

  /**
   * Returns the problems in the history of a run, one sentence each; empty if all observers agree with the journal.
   * Then forgets the run. `end` is its return value, if it has one.
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
        // Steps that the service executed have no token in the journal. All observers of them must agree.
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
