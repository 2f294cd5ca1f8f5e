/** Workflows of every shape, whose results depend on nothing but their input: so a run under any faults can be checked. */

/** The part of the SDK's context that they use; a plain implementation gives the expected result. */
export interface StepContext {
  readonly payload: { readonly seed: number };
  run(name: string, step: () => number | Promise<number>): Promise<number>;
  sleep(name: string, seconds: number): Promise<void>;
}

export type SimulatedWorkflow = (ctx: StepContext) => Promise<unknown>;

const mix = (seed: number, salt: number): number => (Math.imul(seed ^ salt, 2654435761) >>> 0) % 1000;

const sequence: SimulatedWorkflow = async (ctx) => {
  let sum = 0;
  for (let i = 0; i < 5; i++) sum += await ctx.run(`add ${i}`, () => mix(ctx.payload.seed, i));
  return { sum };
};

const fan: SimulatedWorkflow = async (ctx) => {
  const first = await ctx.run('first', () => mix(ctx.payload.seed, 0));
  const parts = await Promise.all(Array.from({ length: 6 }, (_, i) => ctx.run(`part ${i}`, () => first + i)));
  return ctx.run('join', () => parts.reduce((a, b) => a + b, 0));
};

const branches: SimulatedWorkflow = async (ctx) => {
  const branch = async (name: string, length: number): Promise<number> => {
    let value = mix(ctx.payload.seed, length);
    for (let i = 0; i < length; i++) {
      value = await ctx.run(`${name} ${i}`, () => value + i);
      if (i === 1) await ctx.sleep(`${name} nap`, 1 + (value % 5));
    }
    return value;
  };
  const values = await Promise.all([branch('a', 1), branch('b', 4), branch('c', 3)]);
  return { values };
};

const naps: SimulatedWorkflow = async (ctx) => {
  await ctx.sleep('short', 1);
  const value = await ctx.run('between', () => mix(ctx.payload.seed, 7));
  await Promise.all([ctx.sleep('a day', 86_400), ctx.sleep('an hour', 3600)]);
  return { value };
};

/** A race between a step and a long sleep: whoever is recorded first wins, and the loser stays open. */
const race: SimulatedWorkflow = async (ctx) => {
  const value = await ctx.run('before', () => mix(ctx.payload.seed, 3));
  await Promise.race([ctx.run('quick', () => 1), ctx.sleep('slow', 1_000_000)]);
  return ctx.run('after', () => value + 1);
};

const nothing: SimulatedWorkflow = async (ctx) => ({ seed: ctx.payload.seed });

export const WORKFLOWS: Readonly<Record<string, SimulatedWorkflow>> = { sequence, fan, branches, naps, race, nothing };

/** What the workflow returns when nothing ever fails. */
export function expectedResult(name: string, payload: { readonly seed: number }): Promise<unknown> {
  const workflow = WORKFLOWS[name];
  if (!workflow) throw new Error(`no workflow ${name}`);
  return workflow({
    payload,
    run: async (_name, step) => step(),
    sleep: (stepName) => (stepName === 'slow' ? new Promise<never>(() => {}) : Promise.resolve()),
  });
}
