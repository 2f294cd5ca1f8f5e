/** A worker process, which a test starts by the path of this file and kills. It serves one workflow over connections. */
import { setTimeout as pause } from 'node:timers/promises';
import { connect, serve } from '@everstep/sdk';

const LONGEST_STEP_MS = 4;

let executions = 0;
/** Returns a result that differs each time that the code of the step runs, in any process. */
async function trace(step: string) {
  executions++;
  const execution = `${process.pid} ${executions}`;
  await pause(executions % LONGEST_STEP_MS);
  return { step, execution };
}

const order = serve<{ readonly order: number }, unknown>(async (ctx) => {
  const { order } = ctx.payload;
  const traces = [await ctx.run('reserve', () => trace('reserve'))];
  for (const step of ['check', 'charge']) traces.push(await ctx.run(step, () => trace(step)));
  traces.push(...(await Promise.all(['left', 'middle', 'right'].map((side) => ctx.run(side, () => trace(side))))));
  traces.push(await ctx.run('receipt', () => trace('receipt')));
  return { order, seen: traces };
});

connect({ app: 'crash', workflows: { order }, maxConcurrency: 8, onProblem: () => {} });
process.once('disconnect', () => process.exit());
