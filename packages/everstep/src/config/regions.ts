/** Regions of queue instances. */
export const REGIONS = ['us-east-1', 'eu-central-1'] as const;
export type Region = (typeof REGIONS)[number];
/** Region of requests whose host name contains none, and default region of the first queue instance. */
export const DEFAULT_REGION: Region = 'eu-central-1';
