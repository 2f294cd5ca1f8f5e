/** The destinations of an instance, and whether it can send email. */
import type { AlertDestinationEntry } from '../../../../everstep/src/contract/alerts/alerts.js';
import { useApi } from '../../api/queries.js';

const DESTINATIONS_URL = '/v2/alerts/destinations';

interface Destinations {
  readonly destinations: readonly AlertDestinationEntry[];
  readonly mailAvailable: boolean;
}

const useDestinationList = () => useApi<Destinations>({ topic: 'settings', name: DESTINATIONS_URL, url: DESTINATIONS_URL }).data;

export const useDestinations = (): readonly AlertDestinationEntry[] => useDestinationList()?.destinations ?? [];

/** Returns false only if the installation has no SMTP server. */
export const useMailAvailable = (): boolean => useDestinationList()?.mailAvailable ?? true;
