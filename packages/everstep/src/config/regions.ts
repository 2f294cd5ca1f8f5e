/** Where queue instances can live. */
export const REGIONS = ['us-east-1', 'eu-central-1'] as const;
export type Region = (typeof REGIONS)[number];
/** Of hosts that name none. */
export const DEFAULT_REGION: Region = 'eu-central-1';
