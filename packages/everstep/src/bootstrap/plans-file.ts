/** Reads the plans of the installation: the built-in plans, and those in the operator's file. */
import { readFile } from 'node:fs/promises';
import { BUILT_IN_PLANS, loadPlans, type Plans, setPlanForNewInstances } from '../accounts/plans/plans.js';
import { fileError, StartError } from './start-error.js';

/**
 * Returns the built-in plans with those from `file`, if it is not null. `newInstancePlan` selects the plan of new instances; null
 * leaves the default. Rejects with a StartError that lists all problems.
 */
export async function readPlans(file: string | null, newInstancePlan: string | null): Promise<Plans> {
  const plans = await readFilePlans(file);
  if (newInstancePlan === null) return plans;
  const selectedPlans = setPlanForNewInstances(plans, newInstancePlan);
  if (selectedPlans) return selectedPlans;
  const names = plans.all.map(({ name }) => name).join(', ');
  throw new StartError(`EVERSTEP_NEW_INSTANCE_PLAN must be one of the plans (${names}); got ${JSON.stringify(newInstancePlan)}.`);
}

async function readFilePlans(file: string | null): Promise<Plans> {
  if (file === null) return BUILT_IN_PLANS;
  const text = await readFile(file, 'utf8').catch((error) => {
    throw fileError(`The plans file ${file} is not readable`, error);
  });
  const loadResult = loadPlans(text);
  if (loadResult.ok) return loadResult.plans;
  throw new StartError(`The plans file ${file} is invalid: ${loadResult.problems.join('; ')}.`);
}
