/** Workflows of all kinds whose results depend only on their input, so that a run can be checked under any faults. */

/** The part of the SDK's context that the workflows use. A plain implementation returns the expected result. */
export interface StepContext {
  readonly payload: { readonly seed: number };
  run(name: string, step: () => number | Promise<number>): Promise<number>;
  sleep(name: string, seconds: number): Promise<void>;
  /** Returns the data of the event, or null after a timeout. */
  waitForEvent(name: string, eventId: string, seconds: number): Promise<number | null>;
  /** Returns the response of the simulated API to this number. */
  call(name: string, value: number): Promise<number>;
  /** Returns the result of another workflow with the same payload; null if that run failed. */
  invoke(name: string, workflow: string): Promise<unknown>;
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

/** A race between a step and a long sleep. The first of them to be recorded wins, and the other stays open. */
const race: SimulatedWorkflow = async (ctx) => {
  const value = await ctx.run('before', () => mix(ctx.payload.seed, 3));
  await Promise.race([ctx.run('quick', () => 1), ctx.sleep('slow', 1_000_000)]);
  return ctx.run('after', () => value + 1);
};

/** The event may or may not arrive in time. Simulation.check examines which of the two happened. */
const approval: SimulatedWorkflow = async (ctx) => {
  const value = await ctx.run('before', () => mix(ctx.payload.seed, 5));
  await Promise.all([ctx.waitForEvent('approval', approvalEvent(ctx.payload.seed), 5), ctx.run('beside', () => value)]);
  return ctx.run('after', () => value + 2);
};

/** A workflow that waits for an event that is sent by id, usually before the run waits for it. */
const letter: SimulatedWorkflow = async (ctx) => {
  await ctx.sleep('nap', 1 + (ctx.payload.seed % 10));
  const read = await ctx.waitForEvent('letter', LETTER_EVENT, 10_000_000);
  return { read };
};

const caller: SimulatedWorkflow = async (ctx) => {
  const values = await Promise.all([1, 2, 3].map((i) => ctx.call(`call ${i}`, mix(ctx.payload.seed, i))));
  return { values };
};

/**
 * A workflow that invokes another one. Its result does not contain the invoked result, because that run may fail permanently.
 * Simulation.check examines it.
 */
const parent: SimulatedWorkflow = async (ctx) => {
  const [, value] = await Promise.all([ctx.invoke('child', 'sequence'), ctx.run('beside', () => mix(ctx.payload.seed, 9))]);
  await ctx.invoke('second child', 'nothing');
  return { value };
};

/**
 * A workflow that receives events for which it does not wait, so that other nodes decide on the run while its steps are in
 * flight.
 */
const disturbed: SimulatedWorkflow = async (ctx) => {
  let value = mix(ctx.payload.seed, 11);
  for (let i = 0; i < 5; i++) value = await ctx.run(`think ${i}`, () => value + i);
  return { value };
};

export const LETTER_EVENT = 'letter for you';
export const approvalEvent = (seed: number): string => `approval ${seed}`;
/** Returns the response of the simulated API to a number. */
export const apiResult = (value: number): number => value * 2 + 1;

const nothing: SimulatedWorkflow = async (ctx) => ({ seed: ctx.payload.seed });

export const WORKFLOWS: Readonly<Record<string, SimulatedWorkflow>> = {
  sequence,
  fan,
  branches,
  naps,
  race,
  approval,
  letter,
  caller,
  parent,
  disturbed,
  nothing,
};

/** Returns the result of the workflow without any faults. */
export function expectedResult(name: string, payload: { readonly seed: number }): Promise<unknown> {
  const workflow = WORKFLOWS[name];
  if (!workflow) throw new Error(`no workflow ${name}`);
  return workflow({
    payload,
    run: async (_name, step) => step(),
    sleep: (stepName) => (stepName === 'slow' ? new Promise<never>(() => {}) : Promise.resolve()),
    waitForEvent: async () => payload.seed,
    call: async (_name, value) => apiResult(value),
    invoke: (_name, workflowName) => expectedResult(workflowName, payload),
  });
}
