/** The destinations of an instance, and whether it can send email. */
import type { AlertDestinationEntry } from '../../../../everstep/src/contract/alerts/alerts.js';
import { useApi } from '../../api/queries.js';

const URL = '/v2/alerts/destinations';

interface Destinations {
  readonly destinations: readonly AlertDestinationEntry[];
  readonly mailAvailable: boolean;
}

const useList = () => useApi<Destinations>({ topic: 'settings', name: URL, url: URL }).data;

export const useDestinations = (): readonly AlertDestinationEntry[] => useList()?.destinations ?? [];

/** Returns false only if the installation has no SMTP server. */
export const useMailAvailable = (): boolean => useList()?.mailAvailable ?? true;
