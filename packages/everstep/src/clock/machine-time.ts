/** The clocks of the machine, for what is compared with other machines or measured within this process. */

/** Returns Unix ms. For tokens and signatures, whose verifiers use the clocks of their machines. Can go backwards when the machine's clock is set. */
export const machineTime = (): number => Date.now();
/** Returns milliseconds since an arbitrary time. Never goes backwards. */
export const elapsedMs = (): number => performance.now();
