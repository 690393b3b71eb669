package submitfile

import "strings"

// laterCommands are the submit commands of HTCondor that this version
// refuses, by subject. They are refused wherever they stand, for a
// description that gives one expects something that would not happen.
var laterCommands = map[string]string{
	"file transfer": `transfer_input_files transfer_output_files transfer_output_remaps transfer_checkpoint_files transfer_plugins
		output_destination output_directory encrypt_input_files encrypt_output_files dont_encrypt_input_files
		dont_encrypt_output_files encrypt_execute_directory max_transfer_input_mb max_transfer_output_mb
		preserve_relative_paths public_input_files checkpoint_exit_code transfer_container
		erase_output_and_error_on_restart
		manifest manifest_dir allow_transfer_input_symlinks`,
	"running in containers": `docker_image docker_network_type docker_pull_policy docker_override_entrypoint docker_send_credentials
		container_image container_image_source container_service_names container_target_dir mount_under_scratch
		singularity_image vm_type vm_memory vm_disk vm_vcpus vm_networking vm_networking_type vm_checkpoint
		vm_no_output_vm vm_macaddr vm_no_output xen_kernel xen_initrd xen_root xen_kernel_params
		vmware_dir vmware_should_transfer_files vmware_snapshot_disk`,
	"holding and releasing": `hold hold_kill_sig on_exit_hold on_exit_hold_reason on_exit_hold_subcode
		periodic_hold periodic_hold_reason periodic_hold_subcode periodic_release`,
	"removing by a rule": `on_exit_remove on_exit_remove_reason periodic_remove periodic_remove_reason periodic_vacate`,
	"retrying":           `max_retries retry_until success_exit_code success_exit_by_signal success_exit_signal`,
	"deferral": `deferral_time deferral_window deferral_prep_time cron_minute cron_hour cron_day_of_month cron_month
		cron_day_of_week cron_window cron_prep_time`,
	"sending mail": `notify_user email_attributes`,
	"late materialization": `max_materialize max_idle materialize_max_idle materialize_digest_file max_rows
		jobset jobset_name`,
	"running in other universes": `grid_resource globus_rematch globus_resubmit globus_rsl globus_scheduler globus_xml nordugrid_rsl
		arc_rsl arc_resources arc_rte arc_application arc_data_staging batch_queue batch_project batch_runtime
		batch_extra_submit_args cream_attributes condor_schedd ec2_access_key_id ec2_ami_id ec2_instance_type
		gce_account gce_image azure_image boinc_authenticator_file jar_files java_vm_args
		remote_initialdir remote_grid_resource
		remote_schedd remote_pool kerberos_cache cloud_label_names tool_daemon_cmd tool_daemon_args
		tool_daemon_arguments tool_daemon_input tool_daemon_output tool_daemon_error suspend_job_at_exec
		allow_startup_script run_as_owner load_profile`,
	"running in parallel": `machine_count node_count parallel_script_shadow parallel_script_starter parallel_slots nodes`,
	"remote file access": `append_files local_files buffer_files buffer_size buffer_block_size fetch_files compress_files
		file_remaps want_remote_io`,
	"handing on credentials": `use_oauth_services use_scitokens scitokens_file x509userproxy use_x509userproxy
		delegate_job_gsi_credentials_lifetime myproxy_host myproxy_server_dn myproxy_password
		myproxy_credential_name myproxy_refresh_threshold myproxy_new_proxy_lifetime
		aws_access_key_id_file aws_secret_access_key_file s3_access_key_id_file s3_secret_access_key_file
		gs_access_key_id_file gs_secret_access_key_file`,
	"choosing GPUs": `require_gpus gpus_minimum_capability gpus_maximum_capability gpus_minimum_memory
		gpus_minimum_runtime cuda_version`,
	"": `leave_in_queue max_job_retirement_time allowed_job_duration allowed_execute_duration keep_claim_idle
		want_graceful_removal next_job_start_delay job_lease_duration
		log_xml dagman_log dagman_job_id dag_node_name submit_event_notes submit_event_user_notes image_size
		coresize core_size stack_size noop_job noop_job_exit_code noop_job_exit_signal job_ad_information_attrs
		job_machine_attrs job_machine_attrs_history_length match_list_length rendezvousdir starter_debug
		starter_log ulog_execute_attrs allow_arguments_v1 allow_environment_v1 environment2 arguments2 args2
		wall_time deadline job_share override_tickets
		want_io_proxy accounting_group_prefix primary_unix_group force_arguments_v2 submit_fail_empty_matches
		last_match_list_length exit_requirements hook_keyword skip_filechecks want_name_tag_prefix`,
}

// laterSubjects maps a refused command, in lower case and without
// underscores, to its subject. So the attributes' names, which HTCondor
// takes for many commands, are refused as well.
var laterSubjects = func() map[string]string {
	m := map[string]string{}
	for subject, names := range laterCommands {
		for _, n := range strings.Fields(names) {
			m[squeeze(n)] = subject
		}
	}
	return m
}()

func squeeze(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "") }

// refusal returns why a name cannot be given a value, if so.
func refusal(name string) (why string, refused bool) {
	subject, refused := laterSubjects[squeeze(name)]
	if subject == "" {
		return later, refused
	}
	return subject + " is " + later, refused
}
