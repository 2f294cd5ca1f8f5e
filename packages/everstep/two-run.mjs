import http, { createServer } from 'node:http';
import { node } from '/tmp/two.mjs';

const sdk = await import('@everstep/sdk');
const { serve } = await import('@everstep/sdk/node').catch(async () => ({}));
console.log(Object.keys(sdk).slice(0, 20));
const executions = new Map();
const a = await node('a', '/tmp/two-d', { EVERSTEP_LOG_LEVEL: 'warn' });
const b = await node('b', '/tmp/two-d', { EVERSTEP_LOG_LEVEL: 'warn' });
const handler = serve(
  async (ctx) => {
    let s = 0;
    for (let i = 0; i < 5; i++) {
      s += await ctx.run('step' + i, async () => {
        const k = ctx.workflowRunId + '/' + i;
        executions.set(k, (executions.get(k) ?? 0) + 1);
        await new Promise((r) => setTimeout(r, Number(process.env.STEP_MS ?? 2)));
        return i;
      });
    }
    return s;
  },
  { currentSigningKey: a.vars.EVERSTEP_CURRENT_SIGNING_KEY, nextSigningKey: a.vars.EVERSTEP_NEXT_SIGNING_KEY },
);
const app = createServer(handler);
await new Promise((r) => app.listen(0, '127.0.0.1', r));
const url = `http://127.0.0.1:${app.address().port}/w`;
const clients = [a, b].map((n) => new sdk.Client({ baseUrl: n.vars.EVERSTEP_URL, token: n.vars.EVERSTEP_TOKEN }));
const N = Number(process.env.N ?? 300);
const t0 = Date.now();
let i = 0;
const ids = [];
let failed = 0;
async function worker() {
  while (i < N) {
    const n = i++;
    const id = `r${t0}-${n}`;
    for (let tries = 0; ; tries++) {
      try {
        await clients[(n + tries) % 2].trigger(url, { runId: id });
        break;
      } catch (e) {
        failed++;
        if (tries > 20) throw e;
        await new Promise((r) => setTimeout(r, 50));
      }
    }
    ids.push(id);
  }
}
const ws = Array.from({ length: 32 }, worker);
if (process.env.KILL) {
  setTimeout(() => {
    console.log('kill -9 a');
    a.child.kill('SIGKILL');
  }, Number(process.env.KILL));
}
await Promise.all(ws);
console.log('triggered', ids.length, 'retries', failed, Date.now() - t0, 'ms');
let ok = 0;
for (const id of ids) {
  const r = await clients[1].runs.result(id, { timeout: '60s' }).catch((e) => ({ error: e.message }));
  if (r.workflowState === 'RUN_SUCCESS' && r.result === 10) ok++;
  else console.log(id, JSON.stringify(r));
}
console.log(
  'ok',
  ok,
  'of',
  ids.length,
  'in',
  Date.now() - t0,
  'ms; executions',
  [...executions.values()].reduce((x, y) => x + y, 0),
  'twice',
  [...executions.values()].filter((x) => x > 1).length,
);
a.child.kill();
b.child.kill();
app.close();
setTimeout(() => process.exit(0), 3000);
