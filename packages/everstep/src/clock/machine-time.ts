/** The clocks of the machine, for times that are compared with other machines or measured within this process. */

/**
 * Returns the time of the machine, Unix ms. It is for tokens and signatures, whose verifiers use the clocks of their machines.
 * It can go backwards when the machine's clock is set.
 */
export const machineTime = (): number => Date.now();
/** Returns milliseconds since an arbitrary time. They never go backwards. */
export const elapsedMs = (): number => performance.now();
