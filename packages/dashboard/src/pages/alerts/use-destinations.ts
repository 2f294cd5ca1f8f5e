/** The names of the destinations of an instance. */
import type { AlertDestinationEntry } from '../../../../everstep/src/contract/alerts/alerts.js';
import { useApi } from '../../api/queries.js';

const URL = '/v2/alerts/destinations';

export function useDestinations(): readonly AlertDestinationEntry[] {
  const { data } = useApi<{ readonly destinations: readonly AlertDestinationEntry[] }>({
    topic: 'settings',
    name: URL,
    url: URL,
  });
  return data?.destinations ?? [];
}
