/**
 * The app of a simulation, with all workflows. Each workflow checks that a step starts only after the steps before it are recorded,
 * except those of its checkpoint. It also records the results that its code has seen.
 */
import assert from 'node:assert/strict';
import { createEndpoint } from '@everstep/sdk';
import type { WorkflowEndpoint } from '../../../sdk/dist/endpoint.js';
import type { StepHistory, WitnessedEnd, WitnessedStep } from '../../../sdk/dist/testing/step-history.fixture.js';
import type { Store } from '../ports/stores/store.js';
import type { App } from './faulty-caller.js';
import { WORKFLOWS } from './workflows.js';

export interface AppOptions {
  /** Start of the URLs of the workflows, before their names. */
  readonly baseUrl: string;
  /** Maximum number of steps that the app reports together. */
  readonly checkpointSteps: number;
}

export function startApp(store: Store, history: StepHistory, { baseUrl, checkpointSteps }: AppOptions): App {
  const checkpoint = { maxSteps: checkpointSteps, maxMs: 3_600_000 };
  const workflows: Readonly<Record<string, WorkflowEndpoint>> = Object.fromEntries(
    Object.entries(WORKFLOWS).map(([name, workflow]) => [
      name,
      createEndpoint<{ seed: number }, unknown>(
        async (ctx) => {
          let earlierStepCount = 0;
          const witness = history.witness(`${ctx.runId}@${ctx.runCreatedAt}`);
          const result = await workflow({
            payload: ctx.payload,
            run: async (stepName, step) => {
              const requestStep = (action: () => Promise<WitnessedStep<number>>) => ctx.run(stepName, action);
              const value = await witness.run(stepName, requestStep, async () => {
                const run = await store.findRun({
                  instanceId: 'qi_simulated',
                  workflowRunId: ctx.runId,
                  createdAt: ctx.runCreatedAt,
                });
                const journal = await store.loadJournal({ runKey: run?.key ?? '', from: 0 });
                const minStepCount = earlierStepCount - (checkpointSteps - 1);
                assert.ok(journal.length >= minStepCount, 'a step started before the results that it depends on were recorded');
                return step();
              });
              earlierStepCount++;
              return value;
            },
            sleep: async (stepName, seconds) => {
              await ctx.sleep(stepName, seconds);
              earlierStepCount++;
            },
            waitForEvent: async (stepName, eventId, seconds) => {
              const outcome = await ctx.waitForEvent<number>(stepName, eventId, { timeout: seconds });
              earlierStepCount++;
              witness.saw(stepName, outcome);
              return outcome.timeout ? null : outcome.eventData;
            },
            call: async (stepName, value) => {
              const url = `http://api/${value}`;
              const response = await ctx.call<number>(stepName, { url, retries: 100, retryDelay: '1000' });
              earlierStepCount++;
              witness.saw(stepName, response.body);
              return response.body;
            },
            invoke: async (stepName, workflowName) => {
              const child = await ctx.invoke<WitnessedEnd<unknown>>(stepName, {
                workflowUrl: `${baseUrl}${workflowName}`,
                payload: ctx.payload,
              });
              earlierStepCount++;
              witness.saw(stepName, child.workflowRunId);
              return child.state === 'succeeded' ? child.body.result : null;
            },
          });
          return witness.end(result);
        },
        { checkpoint },
      ),
    ]),
  );
  return {
    workflows,
    async handle(request) {
      const endpoint = workflows[request.url.slice(baseUrl.length)];
      if (!endpoint) return { status: 404, headers: {}, body: '{}' };
      return endpoint.handle(request);
    },
  };
}
