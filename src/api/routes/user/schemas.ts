/** Donation requests. */

import { Type } from '@sinclair/typebox';

export const DonationRequest = Type.Object(
  {
    address: Type.String({
      maxLength: 256,
      description: 'ip:port of the node to ask.',
      examples: ['127.0.0.1:12360'],
    }),
  },
  { $id: 'DonationRequest', description: 'Whom to ask for a donation.', examples: [{ address: '127.0.0.1:12360' }] },
);
