import { createContext } from 'react';

/** Whether a component is rendered in a table row. The row then receives focus instead of its parts. */
export const InTableContext = createContext(false);
