// The handler of a conversation route: a function that another stack of this account and region has deployed.
import { Function } from 'aws-cdk-lib/aws-lambda';
import { StringParameter } from 'aws-cdk-lib/aws-ssm';
import type { ConstructFactoryGetInstanceProps, GenerateContainerEntryProps } from '@aws-amplify/plugin-types';

const STAGE = 'prod';

const generator = {
  resourceGroupName: 'conversationHandlerFunction',
  generateContainerEntry: ({ scope }: GenerateContainerEntryProps) => {
    const name = `/conversation-memory/${STAGE}/appsync-handler-arn`;
    const functionArn = StringParameter.valueForStringParameter(scope, name);
    const attributes = { functionArn, sameEnvironment: true };
    return { resources: { lambda: Function.fromFunctionAttributes(scope, 'ConversationMemory', attributes) } };
  },
};

export const conversationMemory = {
  eventVersion: '1.0',
  getInstance: ({ constructContainer }: ConstructFactoryGetInstanceProps): any =>
    constructContainer.getOrCompute(generator),
};
