/**
 * Checks the results that the code of runs has received. Each execution of a step creates a unique token. Its
 * recorded result contains that token and the tokens of all results that the code had received before. This detects
 * when two observers of one step received different results, or a result that was not recorded. Observers are later
 * steps, the result of the run and replays.
 */

/** Tokens of the results that the code had received, by step name. */
export type SeenResults = Readonly<Record<string, string>>;

/** Recorded result of an executed step. */
export interface WitnessedStep<T> {
  readonly value: T;
  readonly token: string;
  readonly seen: SeenResults;
}

/** Return value of a run. */
export interface WitnessedEnd<T> {
  readonly result: T;
  readonly seen: SeenResults;
}

interface Execution {
  readonly step: string;
  readonly token: string;
  readonly seen: SeenResults;
}

/** A recorded step. `out` is its result; null or undefined if it has none. */
export interface RecordedOut {
  readonly name: string;
  readonly out: unknown;
}

const isWitnessed = (out: unknown): out is WitnessedStep<unknown> =>
  typeof out === 'object' && out !== null && 'token' in out && 'seen' in out;

/** Returns whether the token belongs to an execution. Otherwise it is the outcome of a step that the server executed. */
const isExecutionToken = ([step, token]: readonly [step: string, token: string]): boolean => token.startsWith(`${step}#`);

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
  private readonly recordExecution: (step: string, seen: SeenResults) => string;
  private readonly seenResults: Record<string, string> = {};

  constructor(recordExecution: (step: string, seen: SeenResults) => string) {
    this.recordExecution = recordExecution;
  }

  /** Runs `work` as a step. `requestStep` receives the action to execute and record. Returns the value of `work`. */
  async run<T>(
    step: string,
    requestStep: (action: () => Promise<WitnessedStep<T>>) => Promise<WitnessedStep<T>>,
    work: () => T | Promise<T>,
  ): Promise<T> {
    const witnessed = await requestStep(async () => {
      const seen = { ...this.seenResults };
      const token = this.recordExecution(step, seen);
      return { value: await work(), token, seen };
    });
    this.seenResults[step] = witnessed.token;
    return witnessed.value;
  }

  /** Records the outcome of a step that the server executes. */
  saw(step: string, outcome: unknown): void {
    this.seenResults[step] = JSON.stringify(outcome) ?? 'undefined';
  }

  end<T>(result: T): WitnessedEnd<T> {
    return { result, seen: { ...this.seenResults } };
  }
}

export interface StepHistoryOptions {
  /** Maximum number of steps that are recorded together. Default: 1, each result is recorded before the next step starts. */
  readonly checkpointSteps?: number;
}

export class StepHistory {
  private readonly checkpointSteps: number;
  private tokenCount = 0;
  private readonly executions = new Map<string, Execution[]>();

  constructor({ checkpointSteps = 1 }: StepHistoryOptions = {}) {
    this.checkpointSteps = checkpointSteps;
  }

  /** Returns the witness for an execution of the code of a run, including a replay. `run` is a unique name of the run. */
  witness(run: string): StepWitness {
    return new StepWitness((step, seen) => {
      const token = `${step}#${++this.tokenCount}`;
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
    const recordedTokens = new Map<string, string>();
    const problems: string[] = [];
    for (const { name, out } of recorded) {
      if (recordedTokens.has(name)) problems.push(`step "${name}" is recorded twice`);
      if (isWitnessed(out)) recordedTokens.set(name, out.token);
    }
    const stepNames = new Set(recorded.map(({ name }) => name));
    const compare = (observer: string, seen: readonly (readonly [step: string, token: string])[]): void => {
      for (const [step, token] of seen) {
        const recordedToken = recordedTokens.get(step);
        // Steps that the server executed have no token in the journal. All observers of them must agree.
        if (recordedToken === undefined && stepNames.has(step)) recordedTokens.set(step, token);
        else if (recordedToken !== token)
          problems.push(`${observer} saw ${token}, but "${step}" is recorded as ${recordedToken ?? 'nothing'}`);
      }
    };
    const isLost = (entry: readonly [step: string, token: string] | undefined): boolean =>
      entry !== undefined && isExecutionToken(entry) && recordedTokens.get(entry[0]) !== entry[1];
    for (const { name, out } of recorded)
      if (isWitnessed(out)) compare(`the recorded step "${name}" (${out.token})`, Object.entries(out.seen));
    for (const { step, token, seen } of this.executions.get(run) ?? []) {
      // If the result of this execution was not recorded, the results before it in the same checkpoint are lost as well. They
      // are the last results that the execution saw.
      const maxLost = recordedTokens.get(step) === token ? 0 : this.checkpointSteps - 1;
      const entries = Object.entries(seen);
      let comparedCount = entries.length;
      while (comparedCount > 0 && entries.length - comparedCount < maxLost && isLost(entries[comparedCount - 1])) comparedCount--;
      compare(`the execution ${token}`, entries.slice(0, comparedCount));
    }
    if (end) compare('the end of the run', Object.entries(end.seen));
    this.executions.delete(run);
    return problems.map((problem) => `${run}: ${problem}`);
  }
}
