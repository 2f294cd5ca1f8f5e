/** The plans of the installation: from the operator's file, when there is one. */
import { readFile } from 'node:fs/promises';
import { BUILT_IN_PLANS, loadPlans, type Plans, withPlanOfNewInstances } from '../accounts/plans.js';
import { fileError, StartError } from './start-error.js';

/**
 * `file` null: the built-in plans. `newInstancePlan` null: what the plans say themselves. Rejects with StartError, which
 * names all that is wrong.
 */
export async function readPlans(file: string | null, newInstancePlan: string | null): Promise<Plans> {
  const plans = await readFilePlans(file);
  if (newInstancePlan === null) return plans;
  const chosen = withPlanOfNewInstances(plans, newInstancePlan);
  if (chosen) return chosen;
  const names = plans.all.map(({ name }) => name).join(', ');
  throw new StartError(`EVERSTEP_NEW_INSTANCE_PLAN must be one of the plans (${names}), not ${JSON.stringify(newInstancePlan)}.`);
}

async function readFilePlans(file: string | null): Promise<Plans> {
  if (file === null) return BUILT_IN_PLANS;
  const text = await readFile(file, 'utf8').catch((error) => {
    throw fileError(`The plans file ${file} cannot be read`, error);
  });
  const loaded = loadPlans(text);
  if (loaded.ok) return loaded.plans;
  throw new StartError(`The plans file ${file} cannot be used: ${loaded.problems.join('; ')}.`);
}
