import { serve } from '@everstep/sdk';
import { toNextRoute } from '@everstep/sdk/nextjs';
import { processOrder } from '../../workflow.ts';

export const { GET, POST } = toNextRoute(serve(processOrder));
