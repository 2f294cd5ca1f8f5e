/** The plans of the installation, with those from the operator's file. */
import { readFile } from 'node:fs/promises';
import { BUILT_IN_PLANS, loadPlans, type Plans, withPlanOfNewInstances } from '../accounts/plans/plans.js';
import { fileError, StartError } from './start-error.js';

/**
 * Reads the plans. `file` null: the built-in plans. `newInstancePlan` null: the default of the plans. Rejects with a StartError
 * that lists all problems.
 */
export async function readPlans(file: string | null, newInstancePlan: string | null): Promise<Plans> {
  const plans = await readFilePlans(file);
  if (newInstancePlan === null) return plans;
  const selectedPlans = withPlanOfNewInstances(plans, newInstancePlan);
  if (selectedPlans) return selectedPlans;
  const names = plans.all.map(({ name }) => name).join(', ');
  throw new StartError(`EVERSTEP_NEW_INSTANCE_PLAN must be one of the plans (${names}); got ${JSON.stringify(newInstancePlan)}.`);
}

async function readFilePlans(file: string | null): Promise<Plans> {
  if (file === null) return BUILT_IN_PLANS;
  const text = await readFile(file, 'utf8').catch((error) => {
    throw fileError(`The plans file ${file} is not readable`, error);
  });
  const loaded = loadPlans(text);
  if (loaded.ok) return loaded.plans;
  throw new StartError(`The plans file ${file} is invalid: ${loaded.problems.join('; ')}.`);
}
