; e4f2e512b152e34aa3d3b62e8512d8e5d7086019d0bfa722d9836b9a98e4dac7


define range(i32 -1, -2) i32 @parse(ptr noalias writeonly captures(none) %retptr, ptr noalias writeonly captures(none) %excinfo, i64 %arg.state) local_unnamed_addr {
B0:
  %.693 = alloca i64, align 8
  store i64 0, ptr %.693, align 8
  %excinfo.6 = alloca ptr, align 8
  store ptr null, ptr %excinfo.6, align 8
  %.1008 = alloca i64, align 8
  store i64 0, ptr %.1008, align 8
  %excinfo.9 = alloca ptr, align 8
  store ptr null, ptr %excinfo.9, align 8
  %.1098 = alloca i64, align 8
  store i64 0, ptr %.1098, align 8
  %excinfo.10 = alloca ptr, align 8
  store ptr null, ptr %excinfo.10, align 8
  %.1645 = alloca i64, align 8
  store i64 0, ptr %.1645, align 8
  %excinfo.14 = alloca ptr, align 8
  store ptr null, ptr %excinfo.14, align 8
  %.1770 = alloca i64, align 8
  store i64 0, ptr %.1770, align 8
  %excinfo.15 = alloca ptr, align 8
  store ptr null, ptr %excinfo.15, align 8
  %.4434 = alloca i64, align 8
  store i64 0, ptr %.4434, align 8
  %excinfo.29 = alloca ptr, align 8
  store ptr null, ptr %excinfo.29, align 8
  %.9 = add nsw i64 %arg.state, 8
  %.10 = inttoptr i64 %.9 to ptr
  %.11 = load i64, ptr %.10, align 1
  %.17 = add nsw i64 %arg.state, 32
  %.18 = inttoptr i64 %.17 to ptr
  %.19 = load i64, ptr %.18, align 1
  %.25 = add nsw i64 %arg.state, 40
  %.26 = inttoptr i64 %.25 to ptr
  %.27 = load i64, ptr %.26, align 1
  %.33 = add nsw i64 %arg.state, 48
  %.34 = inttoptr i64 %.33 to ptr
  %.35 = load i64, ptr %.34, align 1
  %.43 = inttoptr i64 %arg.state to ptr
  %.44 = load i64, ptr %.43, align 1
  %.12.i = inttoptr i64 %.44 to ptr
  %.13.i = load i8, ptr %.12.i, align 1, !noalias !0
  %0 = zext i8 %.13.i to i32
  switch i32 %0, label %B0.endif.endif.endif [
    i32 32, label %B82.i.preheader
    i32 10, label %B82.i.preheader
    i32 13, label %B82.i.preheader
    i32 9, label %B82.i.preheader
  ]

B82.i.preheader:                                  ; preds = %B0, %B0, %B0, %B0
  %1 = add i64 %.44, 1
  br label %B82.i

B82.i:                                            ; preds = %B82.i.backedge, %B82.i.preheader
  %lsr.iv1319 = phi i64 [ %lsr.iv.next1320, %B82.i.backedge ], [ %1, %B82.i.preheader ]
  %.61.i = inttoptr i64 %lsr.iv1319 to ptr
  %.62.i = load i8, ptr %.61.i, align 1, !noalias !0
  %2 = zext i8 %.62.i to i32
  switch i32 %2, label %B0.endif.endif.endif.loopexit [
    i32 32, label %B82.i.backedge
    i32 10, label %B82.i.backedge
    i32 13, label %B82.i.backedge
    i32 9, label %B82.i.backedge
  ]

B82.i.backedge:                                   ; preds = %B82.i, %B82.i, %B82.i, %B82.i
  %lsr.iv.next1320 = add i64 %lsr.iv1319, 1
  br label %B82.i

B480:                                             ; preds = %B0.endif.endif.endif
  %.10.i = inttoptr i64 %.201 to ptr
  %.11.i = load i64, ptr %.10.i, align 1, !noalias !3
  %.14.i777 = add nsw i64 %.201, 8
  %.15.i = inttoptr i64 %.14.i777 to ptr
  %.16.i778 = load i64, ptr %.15.i, align 1, !noalias !3
  %.106102.i = icmp sgt i64 %.16.i778, -1
  br i1 %.106102.i, label %B146.preheader.i, label %B194.endif.i

B146.preheader.i:                                 ; preds = %B480
  %3 = add nuw i64 %.16.i778, 1
  %xtraiter.i = and i64 %3, 3
  %4 = icmp samesign ult i64 %.16.i778, 3
  br i1 %4, label %B146.epil.preheader.i, label %B146.preheader.new.i

B146.preheader.new.i:                             ; preds = %B146.preheader.i
  %unroll_iter.i = and i64 %3, -4
  %5 = add nsw i64 %.16.i778, -3
  %6 = lshr i64 %5, 2
  %7 = add nuw nsw i64 %6, 1
  %8 = icmp eq i64 %6, 0
  br i1 %8, label %B146.i.epil.preheader, label %B146.preheader.new.i.new

B146.preheader.new.i.new:                         ; preds = %B146.preheader.new.i
  %const1342 = bitcast i64 9223372036854775806 to i64
  %unroll_iter = and i64 %7, %const1342
  br label %B146.i

B146.i:                                           ; preds = %B146.i, %B146.preheader.new.i.new
  %lsr.iv1317 = phi i64 [ %lsr.iv.next1318, %B146.i ], [ %unroll_iter, %B146.preheader.new.i.new ]
  %lsr.iv5.i = phi i64 [ %.11.i, %B146.preheader.new.i.new ], [ %16, %B146.i ]
  %.147.i = inttoptr i64 %lsr.iv5.i to ptr
  store i64 -1, ptr %.147.i, align 1, !noalias !3
  %9 = add i64 %lsr.iv5.i, 8
  %.147.1.i = inttoptr i64 %9 to ptr
  store i64 -1, ptr %.147.1.i, align 1, !noalias !3
  %10 = add i64 %9, 8
  %.147.2.i = inttoptr i64 %10 to ptr
  store i64 -1, ptr %.147.2.i, align 1, !noalias !3
  %11 = add i64 %10, 8
  %.147.3.i = inttoptr i64 %11 to ptr
  store i64 -1, ptr %.147.3.i, align 1, !noalias !3
  %12 = add i64 %11, 8
  %.147.i.1 = inttoptr i64 %12 to ptr
  store i64 -1, ptr %.147.i.1, align 1, !noalias !3
  %13 = add i64 %12, 8
  %.147.1.i.1 = inttoptr i64 %13 to ptr
  store i64 -1, ptr %.147.1.i.1, align 1, !noalias !3
  %14 = add i64 %13, 8
  %.147.2.i.1 = inttoptr i64 %14 to ptr
  store i64 -1, ptr %.147.2.i.1, align 1, !noalias !3
  %15 = add i64 %14, 8
  %.147.3.i.1 = inttoptr i64 %15 to ptr
  store i64 -1, ptr %.147.3.i.1, align 1, !noalias !3
  %lsr.iv.next6.i.1 = add i64 %lsr.iv5.i, 64
  %lsr.iv.next1318 = add i64 %lsr.iv1317, -2
  %niter.ncmp.1 = icmp eq i64 %lsr.iv.next1318, 0
  %16 = add i64 %15, 8
  br i1 %niter.ncmp.1, label %B194.endif.loopexit.unr-lcssa.i.unr-lcssa, label %B146.i

B274.i:                                           ; preds = %B274.preheader.i, %B488.i
  %.244107109.i = phi i64 [ %.251.i, %B488.i ], [ 0, %B274.preheader.i ]
  %.251.i = add nuw nsw i64 %.244107109.i, 1
  %sunkaddr = inttoptr i64 %.201 to ptr
  %sunkaddr1351 = getelementptr i8, ptr %sunkaddr, i64 16
  %.283.i = load i64, ptr %sunkaddr1351, align 1, !noalias !3
  %.285.i = shl nsw i64 %.244107109.i, 3
  %.286.i = add nsw i64 %.283.i, %.285.i
  %.287.i = inttoptr i64 %.286.i to ptr
  %.288.i = load i64, ptr %.287.i, align 1, !noalias !3
  %.290.i = and i64 %.288.i, %.16.i778
  %.297.i = shl nsw i64 %.290.i, 3
  %.299.i = add nsw i64 %.297.i, %.11.i
  %.300.i = inttoptr i64 %.299.i to ptr
  %.301.i782 = load i64, ptr %.300.i, align 1, !noalias !3
  %.302.i = icmp sgt i64 %.301.i782, -1
  br i1 %.302.i, label %B422.i.preheader, label %B488.i

B422.i.preheader:                                 ; preds = %B274.i
  br label %B422.i

B422.i:                                           ; preds = %B422.i, %B422.i.preheader
  %j.3.1.i = phi i64 [ %.307.i, %B422.i ], [ %.290.i, %B422.i.preheader ]
  %.305.i = add nsw i64 %j.3.1.i, 1
  %.307.i = and i64 %.305.i, %.16.i778
  %.312.i = shl nsw i64 %.307.i, 3
  %.314.i = add nsw i64 %.312.i, %.11.i
  %.315.i = inttoptr i64 %.314.i to ptr
  %.316.i = load i64, ptr %.315.i, align 1, !noalias !3
  %.317.i = icmp sgt i64 %.316.i, -1
  br i1 %.317.i, label %B422.i, label %B488.i

B488.i:                                           ; preds = %B422.i, %B274.i
  %.328.pre-phi.i = phi ptr [ %.300.i, %B274.i ], [ %.315.i, %B422.i ]
  store i64 %.244107109.i, ptr %.328.pre-phi.i, align 1, !noalias !3
  %exitcond.not.i = icmp eq i64 %.251.i, %.158.i781
  br i1 %exitcond.not.i, label %_ZN9tracelens10collectors5torch4fast8scanning7rebuildB2v3B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dEx.exit, label %B274.i

B194.endif.loopexit.unr-lcssa.i.unr-lcssa:        ; preds = %B146.i
  %17 = and i64 %7, 1
  %lcmp.mod.not = icmp eq i64 %17, 0
  br i1 %lcmp.mod.not, label %B194.endif.loopexit.unr-lcssa.i, label %B146.i.epil.preheader

B146.i.epil.preheader:                            ; preds = %B194.endif.loopexit.unr-lcssa.i.unr-lcssa, %B146.preheader.new.i
  %lsr.iv5.i.epil.init = phi i64 [ %.11.i, %B146.preheader.new.i ], [ %lsr.iv.next6.i.1, %B194.endif.loopexit.unr-lcssa.i.unr-lcssa ]
  %.147.i.epil = inttoptr i64 %lsr.iv5.i.epil.init to ptr
  store i64 -1, ptr %.147.i.epil, align 1, !noalias !3
  %18 = add i64 %lsr.iv5.i.epil.init, 8
  %.147.1.i.epil = inttoptr i64 %18 to ptr
  store i64 -1, ptr %.147.1.i.epil, align 1, !noalias !3
  %19 = add i64 %lsr.iv5.i.epil.init, 16
  %.147.2.i.epil = inttoptr i64 %19 to ptr
  store i64 -1, ptr %.147.2.i.epil, align 1, !noalias !3
  %20 = add i64 %lsr.iv5.i.epil.init, 24
  %.147.3.i.epil = inttoptr i64 %20 to ptr
  store i64 -1, ptr %.147.3.i.epil, align 1, !noalias !3
  br label %B194.endif.loopexit.unr-lcssa.i

B194.endif.loopexit.unr-lcssa.i:                  ; preds = %B146.i.epil.preheader, %B194.endif.loopexit.unr-lcssa.i.unr-lcssa
  %lcmp.mod.not.i = icmp eq i64 %xtraiter.i, 0
  br i1 %lcmp.mod.not.i, label %B194.endif.i, label %B146.epil.preheader.i

B146.epil.preheader.i:                            ; preds = %B194.endif.loopexit.unr-lcssa.i, %B146.preheader.i
  %.112101103.epil.init.i = phi i64 [ 0, %B146.preheader.i ], [ %unroll_iter.i, %B194.endif.loopexit.unr-lcssa.i ]
  %21 = shl i64 %.112101103.epil.init.i, 3
  %22 = add nsw i64 %21, %.11.i
  br label %B146.epil.i

B146.epil.i:                                      ; preds = %B146.epil.i, %B146.epil.preheader.i
  %lsr.iv3.i = phi i64 [ %lsr.iv.next4.i, %B146.epil.i ], [ %xtraiter.i, %B146.epil.preheader.i ]
  %lsr.iv.i784 = phi i64 [ %lsr.iv.next.i, %B146.epil.i ], [ %22, %B146.epil.preheader.i ]
  %.147.epil.i = inttoptr i64 %lsr.iv.i784 to ptr
  store i64 -1, ptr %.147.epil.i, align 1, !noalias !3
  %lsr.iv.next.i = add i64 %lsr.iv.i784, 8
  %lsr.iv.next4.i = add nsw i64 %lsr.iv3.i, -1
  %epil.iter.cmp.not.i = icmp eq i64 %lsr.iv.next4.i, 0
  br i1 %epil.iter.cmp.not.i, label %B194.endif.i, label %B146.epil.i, !llvm.loop !6

B194.endif.i:                                     ; preds = %B146.epil.i, %B194.endif.loopexit.unr-lcssa.i, %B480
  %.156.i779 = add nsw i64 %.201, 40
  %.157.i780 = inttoptr i64 %.156.i779 to ptr
  %.158.i781 = load i64, ptr %.157.i780, align 1, !noalias !3
  %.238108.not.i = icmp slt i64 %.158.i781, 1
  br i1 %.238108.not.i, label %_ZN9tracelens10collectors5torch4fast8scanning7rebuildB2v3B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dEx.exit, label %B274.preheader.i

B274.preheader.i:                                 ; preds = %B194.endif.i
  br label %B274.i

_ZN9tracelens10collectors5torch4fast8scanning7rebuildB2v3B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dEx.exit: ; preds = %B194.endif.i, %B488.i
  %sunkaddr1352 = inttoptr i64 %.201 to ptr
  %sunkaddr1353 = getelementptr i8, ptr %sunkaddr1352, i64 88
  store i64 0, ptr %sunkaddr1353, align 1, !noalias !3
  %sunkaddr1354 = inttoptr i64 %arg.state to ptr
  %sunkaddr1355 = getelementptr i8, ptr %sunkaddr1354, i64 72
  %.201.1.pre = load i64, ptr %sunkaddr1355, align 1
  br label %B510

B510:                                             ; preds = %B0.endif.endif.endif, %_ZN9tracelens10collectors5torch4fast8scanning7rebuildB2v3B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dEx.exit
  %.201.1 = phi i64 [ %.201.1.pre, %_ZN9tracelens10collectors5torch4fast8scanning7rebuildB2v3B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dEx.exit ], [ %.201, %B0.endif.endif.endif ]
  %.210.1 = add nsw i64 %.201.1, 216
  %.211.1 = inttoptr i64 %.210.1 to ptr
  %.212.1 = load i64, ptr %.211.1, align 1
  %.213.not.1 = icmp eq i64 %.212.1, 0
  br i1 %.213.not.1, label %B510.1, label %B480.1

B480.1:                                           ; preds = %B510
  %.204.1 = add nsw i64 %.201.1, 128
  %.10.i785 = inttoptr i64 %.204.1 to ptr
  %.11.i786 = load i64, ptr %.10.i785, align 1, !noalias !8
  %.14.i787 = add nsw i64 %.201.1, 136
  %.15.i788 = inttoptr i64 %.14.i787 to ptr
  %.16.i789 = load i64, ptr %.15.i788, align 1, !noalias !8
  %.106102.i790 = icmp sgt i64 %.16.i789, -1
  br i1 %.106102.i790, label %B146.preheader.i826, label %B194.endif.i791

B146.preheader.i826:                              ; preds = %B480.1
  %23 = add nuw i64 %.16.i789, 1
  %xtraiter.i827 = and i64 %23, 3
  %24 = icmp samesign ult i64 %.16.i789, 3
  br i1 %24, label %B146.epil.preheader.i842, label %B146.preheader.new.i828

B146.preheader.new.i828:                          ; preds = %B146.preheader.i826
  %unroll_iter.i829 = and i64 %23, -4
  %25 = add nsw i64 %.16.i789, -3
  %26 = lshr i64 %25, 2
  %27 = add nuw nsw i64 %26, 1
  %28 = icmp eq i64 %26, 0
  br i1 %28, label %B146.i830.epil.preheader, label %B146.preheader.new.i828.new

B146.preheader.new.i828.new:                      ; preds = %B146.preheader.new.i828
  %const1343 = bitcast i64 9223372036854775806 to i64
  %unroll_iter1234 = and i64 %27, %const1343
  br label %B146.i830

B146.i830:                                        ; preds = %B146.i830, %B146.preheader.new.i828.new
  %lsr.iv1315 = phi i64 [ %lsr.iv.next1316, %B146.i830 ], [ %unroll_iter1234, %B146.preheader.new.i828.new ]
  %lsr.iv5.i831 = phi i64 [ %.11.i786, %B146.preheader.new.i828.new ], [ %36, %B146.i830 ]
  %.147.i833 = inttoptr i64 %lsr.iv5.i831 to ptr
  store i64 -1, ptr %.147.i833, align 1, !noalias !8
  %29 = add i64 %lsr.iv5.i831, 8
  %.147.1.i834 = inttoptr i64 %29 to ptr
  store i64 -1, ptr %.147.1.i834, align 1, !noalias !8
  %30 = add i64 %29, 8
  %.147.2.i835 = inttoptr i64 %30 to ptr
  store i64 -1, ptr %.147.2.i835, align 1, !noalias !8
  %31 = add i64 %30, 8
  %.147.3.i837 = inttoptr i64 %31 to ptr
  store i64 -1, ptr %.147.3.i837, align 1, !noalias !8
  %32 = add i64 %31, 8
  %.147.i833.1 = inttoptr i64 %32 to ptr
  store i64 -1, ptr %.147.i833.1, align 1, !noalias !8
  %33 = add i64 %32, 8
  %.147.1.i834.1 = inttoptr i64 %33 to ptr
  store i64 -1, ptr %.147.1.i834.1, align 1, !noalias !8
  %34 = add i64 %33, 8
  %.147.2.i835.1 = inttoptr i64 %34 to ptr
  store i64 -1, ptr %.147.2.i835.1, align 1, !noalias !8
  %35 = add i64 %34, 8
  %.147.3.i837.1 = inttoptr i64 %35 to ptr
  store i64 -1, ptr %.147.3.i837.1, align 1, !noalias !8
  %lsr.iv.next6.i838.1 = add i64 %lsr.iv5.i831, 64
  %lsr.iv.next1316 = add i64 %lsr.iv1315, -2
  %niter1235.ncmp.1 = icmp eq i64 %lsr.iv.next1316, 0
  %36 = add i64 %35, 8
  br i1 %niter1235.ncmp.1, label %B194.endif.loopexit.unr-lcssa.i840.unr-lcssa, label %B146.i830

B274.i798:                                        ; preds = %B274.preheader.i796, %B488.i812
  %.244107109.i799 = phi i64 [ %.251.i800, %B488.i812 ], [ 0, %B274.preheader.i796 ]
  %.251.i800 = add nuw nsw i64 %.244107109.i799, 1
  %sunkaddr1356 = inttoptr i64 %.201.1 to ptr
  %sunkaddr1357 = getelementptr i8, ptr %sunkaddr1356, i64 144
  %.283.i801 = load i64, ptr %sunkaddr1357, align 1, !noalias !8
  %.285.i802 = shl nsw i64 %.244107109.i799, 3
  %.286.i803 = add nsw i64 %.283.i801, %.285.i802
  %.287.i804 = inttoptr i64 %.286.i803 to ptr
  %.288.i805 = load i64, ptr %.287.i804, align 1, !noalias !8
  %.290.i806 = and i64 %.288.i805, %.16.i789
  %.297.i807 = shl nsw i64 %.290.i806, 3
  %.299.i808 = add nsw i64 %.297.i807, %.11.i786
  %.300.i809 = inttoptr i64 %.299.i808 to ptr
  %.301.i810 = load i64, ptr %.300.i809, align 1, !noalias !8
  %.302.i811 = icmp sgt i64 %.301.i810, -1
  br i1 %.302.i811, label %B422.i817.preheader, label %B488.i812

B422.i817.preheader:                              ; preds = %B274.i798
  br label %B422.i817

B422.i817:                                        ; preds = %B422.i817, %B422.i817.preheader
  %j.3.1.i818 = phi i64 [ %.307.i820, %B422.i817 ], [ %.290.i806, %B422.i817.preheader ]
  %.305.i819 = add nsw i64 %j.3.1.i818, 1
  %.307.i820 = and i64 %.305.i819, %.16.i789
  %.312.i821 = shl nsw i64 %.307.i820, 3
  %.314.i822 = add nsw i64 %.312.i821, %.11.i786
  %.315.i823 = inttoptr i64 %.314.i822 to ptr
  %.316.i824 = load i64, ptr %.315.i823, align 1, !noalias !8
  %.317.i825 = icmp sgt i64 %.316.i824, -1
  br i1 %.317.i825, label %B422.i817, label %B488.i812

B488.i812:                                        ; preds = %B422.i817, %B274.i798
  %.328.pre-phi.i813 = phi ptr [ %.300.i809, %B274.i798 ], [ %.315.i823, %B422.i817 ]
  store i64 %.244107109.i799, ptr %.328.pre-phi.i813, align 1, !noalias !8
  %exitcond.not.i814 = icmp eq i64 %.251.i800, %.158.i794
  br i1 %exitcond.not.i814, label %_ZN9tracelens10collectors5torch4fast8scanning7rebuildB2v3B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dEx.exit851, label %B274.i798

B194.endif.loopexit.unr-lcssa.i840.unr-lcssa:     ; preds = %B146.i830
  %37 = and i64 %27, 1
  %lcmp.mod1232.not = icmp eq i64 %37, 0
  br i1 %lcmp.mod1232.not, label %B194.endif.loopexit.unr-lcssa.i840, label %B146.i830.epil.preheader

B146.i830.epil.preheader:                         ; preds = %B194.endif.loopexit.unr-lcssa.i840.unr-lcssa, %B146.preheader.new.i828
  %lsr.iv5.i831.epil.init = phi i64 [ %.11.i786, %B146.preheader.new.i828 ], [ %lsr.iv.next6.i838.1, %B194.endif.loopexit.unr-lcssa.i840.unr-lcssa ]
  %.147.i833.epil = inttoptr i64 %lsr.iv5.i831.epil.init to ptr
  store i64 -1, ptr %.147.i833.epil, align 1, !noalias !8
  %38 = add i64 %lsr.iv5.i831.epil.init, 8
  %.147.1.i834.epil = inttoptr i64 %38 to ptr
  store i64 -1, ptr %.147.1.i834.epil, align 1, !noalias !8
  %39 = add i64 %lsr.iv5.i831.epil.init, 16
  %.147.2.i835.epil = inttoptr i64 %39 to ptr
  store i64 -1, ptr %.147.2.i835.epil, align 1, !noalias !8
  %40 = add i64 %lsr.iv5.i831.epil.init, 24
  %.147.3.i837.epil = inttoptr i64 %40 to ptr
  store i64 -1, ptr %.147.3.i837.epil, align 1, !noalias !8
  br label %B194.endif.loopexit.unr-lcssa.i840

B194.endif.loopexit.unr-lcssa.i840:               ; preds = %B146.i830.epil.preheader, %B194.endif.loopexit.unr-lcssa.i840.unr-lcssa
  %lcmp.mod.not.i841 = icmp eq i64 %xtraiter.i827, 0
  br i1 %lcmp.mod.not.i841, label %B194.endif.i791, label %B146.epil.preheader.i842

B146.epil.preheader.i842:                         ; preds = %B194.endif.loopexit.unr-lcssa.i840, %B146.preheader.i826
  %.112101103.epil.init.i843 = phi i64 [ 0, %B146.preheader.i826 ], [ %unroll_iter.i829, %B194.endif.loopexit.unr-lcssa.i840 ]
  %41 = shl i64 %.112101103.epil.init.i843, 3
  %42 = add nsw i64 %41, %.11.i786
  br label %B146.epil.i844

B146.epil.i844:                                   ; preds = %B146.epil.i844, %B146.epil.preheader.i842
  %lsr.iv3.i845 = phi i64 [ %lsr.iv.next4.i849, %B146.epil.i844 ], [ %xtraiter.i827, %B146.epil.preheader.i842 ]
  %lsr.iv.i846 = phi i64 [ %lsr.iv.next.i848, %B146.epil.i844 ], [ %42, %B146.epil.preheader.i842 ]
  %.147.epil.i847 = inttoptr i64 %lsr.iv.i846 to ptr
  store i64 -1, ptr %.147.epil.i847, align 1, !noalias !8
  %lsr.iv.next.i848 = add i64 %lsr.iv.i846, 8
  %lsr.iv.next4.i849 = add nsw i64 %lsr.iv3.i845, -1
  %epil.iter.cmp.not.i850 = icmp eq i64 %lsr.iv.next4.i849, 0
  br i1 %epil.iter.cmp.not.i850, label %B194.endif.i791, label %B146.epil.i844, !llvm.loop !6

B194.endif.i791:                                  ; preds = %B146.epil.i844, %B194.endif.loopexit.unr-lcssa.i840, %B480.1
  %.156.i792 = add nsw i64 %.201.1, 168
  %.157.i793 = inttoptr i64 %.156.i792 to ptr
  %.158.i794 = load i64, ptr %.157.i793, align 1, !noalias !8
  %.238108.not.i795 = icmp slt i64 %.158.i794, 1
  br i1 %.238108.not.i795, label %_ZN9tracelens10collectors5torch4fast8scanning7rebuildB2v3B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dEx.exit851, label %B274.preheader.i796

B274.preheader.i796:                              ; preds = %B194.endif.i791
  br label %B274.i798

_ZN9tracelens10collectors5torch4fast8scanning7rebuildB2v3B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dEx.exit851: ; preds = %B194.endif.i791, %B488.i812
  %sunkaddr1358 = inttoptr i64 %.201.1 to ptr
  %sunkaddr1359 = getelementptr i8, ptr %sunkaddr1358, i64 216
  store i64 0, ptr %sunkaddr1359, align 1, !noalias !8
  br label %B510.1

B510.1:                                           ; preds = %_ZN9tracelens10collectors5torch4fast8scanning7rebuildB2v3B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dEx.exit851, %B510
  %.281 = icmp slt i64 %i.3.1.i, %.11
  br i1 %.281, label %B526.preheader, label %B6076

B526.preheader:                                   ; preds = %B510.1
  %const1344 = bitcast i64 9223372036854775806 to i64
  %const1333 = bitcast i64 2177342782468422677 to i64
  %reass.sub = add i64 %.27, 24
  br label %B526.endif

B638:                                             ; preds = %B526.endif
  %sunkaddr1360 = inttoptr i64 %arg.state to ptr
  %sunkaddr1361 = getelementptr i8, ptr %sunkaddr1360, i64 96
  %.375 = load i64, ptr %sunkaddr1361, align 1
  %sunkaddr1362 = inttoptr i64 %arg.state to ptr
  %sunkaddr1363 = getelementptr i8, ptr %sunkaddr1362, i64 88
  %.380 = load i64, ptr %sunkaddr1363, align 1
  %.381.not = icmp slt i64 %.375, %.380
  br i1 %.381.not, label %B764, label %B6076

B764:                                             ; preds = %B638
  %.413.not = icmp eq i8 %.334, 123
  br i1 %.413.not, label %B794, label %B6076

B794:                                             ; preds = %B764
  %.446 = add nsw i64 %i.31.0, 1
  %.12.i1 = inttoptr i64 %.446 to ptr
  %.13.i2 = load i8, ptr %.12.i1, align 1, !noalias !11
  %43 = zext i8 %.13.i2 to i32
  switch i32 %43, label %B854.preheader [
    i32 32, label %B82.preheader.i3
    i32 10, label %B82.preheader.i3
    i32 13, label %B82.preheader.i3
    i32 9, label %B82.preheader.i3
  ]

B82.preheader.i3:                                 ; preds = %B794, %B794, %B794, %B794
  %44 = add i64 %i.31.0, 2
  br label %B82.i4

B82.i4:                                           ; preds = %B82.backedge.i8, %B82.preheader.i3
  %lsr.iv.i5 = phi i64 [ %lsr.iv.next.i9, %B82.backedge.i8 ], [ %44, %B82.preheader.i3 ]
  %.61.i6 = inttoptr i64 %lsr.iv.i5 to ptr
  %.62.i7 = load i8, ptr %.61.i6, align 1, !noalias !11
  %45 = zext i8 %.62.i7 to i32
  switch i32 %45, label %B854.preheader.loopexit [
    i32 32, label %B82.backedge.i8
    i32 10, label %B82.backedge.i8
    i32 13, label %B82.backedge.i8
    i32 9, label %B82.backedge.i8
  ]

B82.backedge.i8:                                  ; preds = %B82.i4, %B82.i4, %B82.i4, %B82.i4
  %lsr.iv.next.i9 = add i64 %lsr.iv.i5, 1
  br label %B82.i4

B854.preheader.loopexit:                          ; preds = %B82.i4
  br label %B854.preheader

B854.preheader:                                   ; preds = %B854.preheader.loopexit, %B794
  %.5512056 = phi i8 [ %.13.i2, %B794 ], [ %.62.i7, %B854.preheader.loopexit ]
  %i.3.1.i11 = phi i64 [ %.446, %B794 ], [ %lsr.iv.i5, %B854.preheader.loopexit ]
  %.5552057 = icmp eq i8 %.5512056, 34
  br i1 %.5552057, label %B894.outer.preheader, label %B5764.critedge

B894.outer.preheader:                             ; preds = %B854.preheader
  br label %B894.outer

B894.outer:                                       ; preds = %B5142.endif, %B894.outer.preheader
  %i.34.2.ph = phi i64 [ %i.3.1.i155, %B5142.endif ], [ %i.3.1.i11, %B894.outer.preheader ]
  %level.3.2.ph = phi i64 [ %level.5.4, %B5142.endif ], [ 0, %B894.outer.preheader ]
  %seen.2.2.ph = phi i64 [ %seen.4.41463, %B5142.endif ], [ 0, %B894.outer.preheader ]
  %has.8.2.ph = phi i64 [ %has.10.4, %B5142.endif ], [ 0, %B894.outer.preheader ]
  %odd.5.2.ph = phi i64 [ %odd.7.4, %B5142.endif ], [ 0, %B894.outer.preheader ]
  %fractions.2.2.ph = phi i1 [ %fractions.4.4, %B5142.endif ], [ false, %B894.outer.preheader ]
  br label %B894

B894:                                             ; preds = %B1646.endif, %B894.outer
  %i.34.2 = phi i64 [ %i.3.1.i47, %B1646.endif ], [ %i.34.2.ph, %B894.outer ]
  %level.3.2 = phi i64 [ 1, %B1646.endif ], [ %level.3.2.ph, %B894.outer ]
  %seen.2.2 = phi i64 [ %.980, %B1646.endif ], [ %seen.2.2.ph, %B894.outer ]
  %.571 = add nsw i64 %i.34.2, 1
  %.578 = inttoptr i64 %.571 to ptr
  %.579 = load <32 x i8>, ptr %.578, align 1
  %.580 = icmp eq <32 x i8> %.579, splat (i8 34)
  %.581 = icmp eq <32 x i8> %.579, splat (i8 92)
  %.582 = or <32 x i1> %.580, %.581
  %.583 = icmp ult <32 x i8> %.579, splat (i8 32)
  %.584 = or <32 x i1> %.583, %.582
  %.585 = bitcast <32 x i1> %.584 to i32
  %.594.not = icmp eq i32 %.585, 0
  %bc = bitcast <32 x i8> %.579 to <4 x i64>
  %46 = extractelement <4 x i64> %bc, i64 0
  br i1 %.594.not, label %B1072, label %B950

B950:                                             ; preds = %B894
  %47 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.585, i1 true)
  %.fr = freeze i32 %47
  %.599 = zext i32 %.fr to i64
  %.603 = add nsw i64 %.571, %.599
  %.608 = inttoptr i64 %.603 to ptr
  %.609 = load i8, ptr %.608, align 1
  %.611.not = icmp eq i8 %.609, 34
  br i1 %.611.not, label %B1028, label %B5764.critedge

B1028:                                            ; preds = %B950
  %48 = trunc i64 %.599 to i32
  %.27.i = icmp ult i32 %48, 8
  %.30.i = shl nuw nsw i64 %.599, 3
  %notmask.i = shl nsw i64 -1, %.30.i
  %.32.i = xor i64 %notmask.i, -1
  %const_mat = add i64 %const1344, 1
  %.34.i = select i1 %.27.i, i64 %.32.i, i64 %const_mat
  %word.2.0.i = and i64 %46, %.34.i
  %.43.i = shl nuw nsw i64 %level.3.2, 6
  %.47.i = add nuw nsw i64 %.43.i, %.599
  %.53.i = xor i64 %word.2.0.i, %.47.i
  %.56.i = mul i64 %.53.i, %const1333
  %.57.i = lshr i64 %.56.i, 55
  %j.2.057.i = and i64 %.57.i, 255
  %sunkaddr1364 = inttoptr i64 %arg.state to ptr
  %sunkaddr1365 = getelementptr i8, ptr %sunkaddr1364, i64 16
  %.6858.i = load i64, ptr %sunkaddr1365, align 1, !noalias !14
  %.7059.i = shl nuw nsw i64 %j.2.057.i, 3
  %.7160.i = add nsw i64 %.7059.i, %.6858.i
  %.7261.i = inttoptr i64 %.7160.i to ptr
  %.7362.i = load i64, ptr %.7261.i, align 1, !noalias !14
  %.7863.i = icmp slt i64 %.7362.i, 0
  br i1 %.7863.i, label %B1150, label %B284.lr.ph.i

B284.lr.ph.i:                                     ; preds = %B1028
  %49 = trunc i64 %.599 to i32
  %sunkaddr1366 = inttoptr i64 %arg.state to ptr
  %sunkaddr1367 = getelementptr i8, ptr %sunkaddr1366, i64 32
  %.99.i = load i64, ptr %sunkaddr1367, align 1, !noalias !14
  %.25.i.i = icmp ugt i32 %49, 8
  %50 = sub nsw i64 64, %.30.i
  br i1 %.25.i.i, label %B284.us.preheader.i, label %B284.lr.ph.split.i

B284.us.preheader.i:                              ; preds = %B284.lr.ph.i
  %51 = add nuw nsw i64 %.599, 16
  br label %B284.us.i

B284.us.i:                                        ; preds = %B510.us.i, %B284.us.preheader.i
  %.7365.us.i = phi i64 [ %.73.us.i, %B510.us.i ], [ %.7362.i, %B284.us.preheader.i ]
  %j.2.064.us.i = phi i64 [ %j.2.0.us.i, %B510.us.i ], [ %j.2.057.i, %B284.us.preheader.i ]
  %.101.us.i = shl nsw i64 %.7365.us.i, 5
  %.102.us.i = add nsw i64 %.101.us.i, %.99.i
  %.107.us.i = inttoptr i64 %.102.us.i to ptr
  %.108.us.i = load i64, ptr %.107.us.i, align 1, !noalias !14
  %.110.us.i = icmp eq i64 %.108.us.i, %.47.i
  br i1 %.110.us.i, label %B386.us.i, label %B510.us.i

B386.us.i:                                        ; preds = %B284.us.i
  %52 = inttoptr i64 %.99.i to ptr
  %sunkaddr1368 = inttoptr i64 %arg.state to ptr
  %sunkaddr1369 = getelementptr i8, ptr %sunkaddr1368, i64 24
  %.117.us.i = load i64, ptr %sunkaddr1369, align 1, !noalias !14
  %sunkaddr61.i = getelementptr i8, ptr %52, i64 %.101.us.i
  %sunkaddr62.i = getelementptr i8, ptr %sunkaddr61.i, i64 8
  %.123.us.i = load i64, ptr %sunkaddr62.i, align 1, !noalias !14
  %.124.us.i = add nsw i64 %.123.us.i, %.117.us.i
  br label %B16.i.us.i

B16.i.us.i:                                       ; preds = %B84.i.us.i, %B386.us.i
  %lsr.iv = phi i64 [ %lsr.iv.next, %B84.i.us.i ], [ %51, %B386.us.i ]
  %lsr.iv57.i = phi i64 [ %50, %B386.us.i ], [ %lsr.iv.next58.i, %B84.i.us.i ]
  %i.2.0.i.us.i = phi i64 [ %.124.us.i, %B386.us.i ], [ %.54.i.us.i, %B84.i.us.i ]
  %j.2.0.i.us.i = phi i64 [ %.571, %B386.us.i ], [ %.60.i.us.i, %B84.i.us.i ]
  %.37.i.us.i = inttoptr i64 %i.2.0.i.us.i to ptr
  %.38.i.us.i = load i64, ptr %.37.i.us.i, align 1, !noalias !17
  %.40.i.us.i = inttoptr i64 %j.2.0.i.us.i to ptr
  %.41.i.us.i = load i64, ptr %.40.i.us.i, align 1, !noalias !17
  %.42.not.i.us.i = icmp eq i64 %.38.i.us.i, %.41.i.us.i
  br i1 %.42.not.i.us.i, label %B84.i.us.i, label %B510.us.i

B84.i.us.i:                                       ; preds = %B16.i.us.i
  %.54.i.us.i = add i64 %i.2.0.i.us.i, 8
  %.60.i.us.i = add i64 %j.2.0.i.us.i, 8
  %lsr.iv.next58.i = add nsw i64 %lsr.iv57.i, 64
  %lsr.iv.next = add nsw i64 %lsr.iv, -8
  %.71.i.us.i = icmp sgt i64 %lsr.iv.next, 24
  br i1 %.71.i.us.i, label %B16.i.us.i, label %B126.i.loopexit.us.i

_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i: ; preds = %B126.i.loopexit.us.i
  %.91.i.us.i = inttoptr i64 %.54.i.us.i to ptr
  %.92.i.us.i = load i64, ptr %.91.i.us.i, align 1, !noalias !17
  %.96.i.us.i = inttoptr i64 %.60.i.us.i to ptr
  %.97.i.us.i = load i64, ptr %.96.i.us.i, align 1, !noalias !17
  %.100.i.us.i = xor i64 %.97.i.us.i, %.92.i.us.i
  %.106.i.us.i = shl i64 %.100.i.us.i, %lsr.iv.next58.i
  %.107.i.not.us.i = icmp eq i64 %.106.i.us.i, 0
  br i1 %.107.i.not.us.i, label %B1150, label %B510.us.i

B510.us.i:                                        ; preds = %_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i, %B16.i.us.i, %B284.us.i
  %.183.us.i = add nuw nsw i64 %j.2.064.us.i, 1
  %j.2.0.us.i = and i64 %.183.us.i, 255
  %.70.us.i = shl nuw nsw i64 %j.2.0.us.i, 3
  %.71.us.i = add nsw i64 %.70.us.i, %.6858.i
  %.72.us.i = inttoptr i64 %.71.us.i to ptr
  %.73.us.i = load i64, ptr %.72.us.i, align 1, !noalias !14
  %.78.us.i = icmp slt i64 %.73.us.i, 0
  br i1 %.78.us.i, label %B1150, label %B284.us.i

B126.i.loopexit.us.i:                             ; preds = %B84.i.us.i
  %.85.i.us.i = icmp slt i64 %lsr.iv.next, 17
  br i1 %.85.i.us.i, label %B1150, label %_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i

B284.lr.ph.split.i:                               ; preds = %B284.lr.ph.i
  %53 = trunc i64 %.599 to i32
  %.85.i.i = icmp eq i32 %53, 0
  br i1 %.85.i.i, label %B284.us7.i.preheader, label %B284.preheader.i

B284.us7.i.preheader:                             ; preds = %B284.lr.ph.split.i
  br label %B284.us7.i

B284.preheader.i:                                 ; preds = %B284.lr.ph.split.i
  br label %B284.i

B284.us7.i:                                       ; preds = %B510.us21.i, %B284.us7.i.preheader
  %.7365.us8.i = phi i64 [ %.73.us27.i, %B510.us21.i ], [ %.7362.i, %B284.us7.i.preheader ]
  %j.2.064.us9.i = phi i64 [ %j.2.0.us23.i, %B510.us21.i ], [ %j.2.057.i, %B284.us7.i.preheader ]
  %.101.us10.i = shl nsw i64 %.7365.us8.i, 5
  %.102.us11.i = add nsw i64 %.101.us10.i, %.99.i
  %.107.us12.i = inttoptr i64 %.102.us11.i to ptr
  %.108.us13.i = load i64, ptr %.107.us12.i, align 1, !noalias !14
  %.110.us14.i = icmp eq i64 %.108.us13.i, %.47.i
  br i1 %.110.us14.i, label %B1150, label %B510.us21.i

B510.us21.i:                                      ; preds = %B284.us7.i
  %.183.us22.i = add nuw nsw i64 %j.2.064.us9.i, 1
  %j.2.0.us23.i = and i64 %.183.us22.i, 255
  %.70.us24.i = shl nuw nsw i64 %j.2.0.us23.i, 3
  %.71.us25.i = add nsw i64 %.70.us24.i, %.6858.i
  %.72.us26.i = inttoptr i64 %.71.us25.i to ptr
  %.73.us27.i = load i64, ptr %.72.us26.i, align 1, !noalias !14
  %.78.us28.i = icmp slt i64 %.73.us27.i, 0
  br i1 %.78.us28.i, label %B1150, label %B284.us7.i

B284.i:                                           ; preds = %B510.i, %B284.preheader.i
  %.7365.i = phi i64 [ %.73.i, %B510.i ], [ %.7362.i, %B284.preheader.i ]
  %j.2.064.i = phi i64 [ %j.2.0.i, %B510.i ], [ %j.2.057.i, %B284.preheader.i ]
  %.101.i = shl nsw i64 %.7365.i, 5
  %.102.i = add nsw i64 %.101.i, %.99.i
  %.107.i = inttoptr i64 %.102.i to ptr
  %.108.i = load i64, ptr %.107.i, align 1, !noalias !14
  %.110.i = icmp eq i64 %.108.i, %.47.i
  br i1 %.110.i, label %B386.i, label %B510.i

B386.i:                                           ; preds = %B284.i
  %54 = inttoptr i64 %.99.i to ptr
  %sunkaddr1370 = inttoptr i64 %arg.state to ptr
  %sunkaddr1371 = getelementptr i8, ptr %sunkaddr1370, i64 24
  %.117.i = load i64, ptr %sunkaddr1371, align 1, !noalias !14
  %sunkaddr66.i = getelementptr i8, ptr %54, i64 %.101.i
  %sunkaddr67.i = getelementptr i8, ptr %sunkaddr66.i, i64 8
  %.123.i = load i64, ptr %sunkaddr67.i, align 1, !noalias !14
  %.124.i = add nsw i64 %.123.i, %.117.i
  %.91.i.i = inttoptr i64 %.124.i to ptr
  %.92.i.i = load i64, ptr %.91.i.i, align 1, !noalias !17
  %.100.i.i = xor i64 %.92.i.i, %46
  %.106.i.i = shl i64 %.100.i.i, %50
  %.107.i.not.i = icmp eq i64 %.106.i.i, 0
  br i1 %.107.i.not.i, label %B1150, label %B510.i

B510.i:                                           ; preds = %B386.i, %B284.i
  %.183.i = add nuw nsw i64 %j.2.064.i, 1
  %j.2.0.i = and i64 %.183.i, 255
  %.70.i = shl nuw nsw i64 %j.2.0.i, 3
  %.71.i = add nsw i64 %.70.i, %.6858.i
  %.72.i = inttoptr i64 %.71.i to ptr
  %.73.i = load i64, ptr %.72.i, align 1, !noalias !14
  %.78.i = icmp slt i64 %.73.i, 0
  br i1 %.78.i, label %B1150, label %B284.i

B1072:                                            ; preds = %B894
  store i64 0, ptr %.693, align 8
  %.697 = call i32 @f1(ptr nonnull %.693, ptr nonnull %excinfo.6, i64 %.571, i64 %.13.i852)
  %.707 = load i64, ptr %.693, align 8
  %cond = icmp eq i32 %.697, 0
  br i1 %cond, label %B1072.endif, label %B1072.if.if, !prof !20

B1140:                                            ; preds = %B1072.endif
  %.769 = lshr i64 %.707, 3
  br label %B1150

B1150:                                            ; preds = %B1140, %B510.i, %B386.i, %B510.us21.i, %B284.us7.i, %B126.i.loopexit.us.i, %B510.us.i, %_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i, %B1028
  %end.10.4 = phi i64 [ %.769, %B1140 ], [ %.603, %B126.i.loopexit.us.i ], [ %.603, %B510.us21.i ], [ %.603, %B1028 ], [ %.603, %_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i ], [ %.603, %B510.us.i ], [ %.603, %B284.us7.i ], [ %.603, %B386.i ], [ %.603, %B510.i ]
  %key.2.4 = phi i64 [ -1, %B1140 ], [ %.7365.us.i, %B126.i.loopexit.us.i ], [ %.73.us27.i, %B510.us21.i ], [ %.7362.i, %B1028 ], [ %.7365.us.i, %_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i ], [ %.73.us.i, %B510.us.i ], [ %.7365.us8.i, %B284.us7.i ], [ %.7365.i, %B386.i ], [ %.73.i, %B510.i ]
  %.777 = add nsw i64 %end.10.4, 1
  %.12.i13 = inttoptr i64 %.777 to ptr
  %.13.i14 = load i8, ptr %.12.i13, align 1, !noalias !21
  %55 = zext i8 %.13.i14 to i32
  switch i32 %55, label %B1150.endif [
    i32 32, label %B82.preheader.i15
    i32 10, label %B82.preheader.i15
    i32 13, label %B82.preheader.i15
    i32 9, label %B82.preheader.i15
  ]

B82.preheader.i15:                                ; preds = %B1150, %B1150, %B1150, %B1150
  %56 = add i64 %end.10.4, 2
  br label %B82.i16

B82.i16:                                          ; preds = %B82.backedge.i20, %B82.preheader.i15
  %lsr.iv.i17 = phi i64 [ %lsr.iv.next.i21, %B82.backedge.i20 ], [ %56, %B82.preheader.i15 ]
  %.61.i18 = inttoptr i64 %lsr.iv.i17 to ptr
  %.62.i19 = load i8, ptr %.61.i18, align 1, !noalias !21
  %57 = zext i8 %.62.i19 to i32
  switch i32 %57, label %B1150.endif.loopexit [
    i32 32, label %B82.backedge.i20
    i32 10, label %B82.backedge.i20
    i32 13, label %B82.backedge.i20
    i32 9, label %B82.backedge.i20
  ]

B82.backedge.i20:                                 ; preds = %B82.i16, %B82.i16, %B82.i16, %B82.i16
  %lsr.iv.next.i21 = add i64 %lsr.iv.i17, 1
  br label %B82.i16

B1228:                                            ; preds = %B1150.endif
  %.851 = add nsw i64 %i.3.1.i23, 1
  %.12.i25 = inttoptr i64 %.851 to ptr
  %.13.i26 = load i8, ptr %.12.i25, align 1, !noalias !24
  %58 = zext i8 %.13.i26 to i32
  switch i32 %58, label %B1228.endif [
    i32 32, label %B82.preheader.i27
    i32 10, label %B82.preheader.i27
    i32 13, label %B82.preheader.i27
    i32 9, label %B82.preheader.i27
  ]

B82.preheader.i27:                                ; preds = %B1228, %B1228, %B1228, %B1228
  %59 = add i64 %i.3.1.i23, 2
  br label %B82.i28

B82.i28:                                          ; preds = %B82.backedge.i32, %B82.preheader.i27
  %lsr.iv.i29 = phi i64 [ %lsr.iv.next.i33, %B82.backedge.i32 ], [ %59, %B82.preheader.i27 ]
  %.61.i30 = inttoptr i64 %lsr.iv.i29 to ptr
  %.62.i31 = load i8, ptr %.61.i30, align 1, !noalias !24
  %60 = zext i8 %.62.i31 to i32
  switch i32 %60, label %B1228.endif.loopexit [
    i32 32, label %B82.backedge.i32
    i32 10, label %B82.backedge.i32
    i32 13, label %B82.backedge.i32
    i32 9, label %B82.backedge.i32
  ]

B82.backedge.i32:                                 ; preds = %B82.i28, %B82.i28, %B82.i28, %B82.i28
  %lsr.iv.next.i33 = add i64 %lsr.iv.i29, 1
  br label %B82.i28

B1324:                                            ; preds = %B1228.endif
  %.904 = shl nsw i64 %key.2.4, 5
  %.906 = add nsw i64 %.904, %.19
  %.919 = add nsw i64 %.906, 24
  %.920 = inttoptr i64 %.919 to ptr
  %.921 = load i64, ptr %.920, align 1
  %61 = shl nuw i64 1, %.921
  %62 = and i64 %61, %seen.2.2
  %.929.not = icmp eq i64 %62, 0
  br i1 %.929.not, label %B1456, label %B5764.critedge

B1456:                                            ; preds = %B1324
  %sunkaddr1372 = inttoptr i64 %.904 to ptr
  %sunkaddr1373 = getelementptr i8, ptr %sunkaddr1372, i64 %.19
  %sunkaddr1374 = getelementptr i8, ptr %sunkaddr1373, i64 16
  %.909 = load i64, ptr %sunkaddr1374, align 1
  %.980 = or i64 %61, %seen.2.2
  switch i64 %.909, label %B1846 [
    i64 0, label %B1478
    i64 9, label %B1634
  ]

B1478:                                            ; preds = %B1228.endif, %B1456
  %seen.4.41464 = phi i64 [ %.980, %B1456 ], [ %seen.2.2, %B1228.endif ]
  %.998 = icmp eq i8 %.883, 34
  br i1 %.998, label %B1490, label %B1560

B1490:                                            ; preds = %B1478
  %.1004 = add nsw i64 %i.3.1.i35, 1
  store i64 0, ptr %.1008, align 8
  %.1012 = call i32 @f1(ptr nonnull %.1008, ptr nonnull %excinfo.9, i64 %.1004, i64 %.13.i852)
  %cond868 = icmp eq i32 %.1012, 0
  br i1 %cond868, label %B1490.endif, label %B1490.if.if, !prof !20

B1560:                                            ; preds = %B1478
  store i64 0, ptr %.1098, align 8
  %.1102 = call i32 @f2(ptr nonnull %.1098, ptr nonnull %excinfo.10, i64 %i.3.1.i35, i64 %.13.i852)
  %cond869 = icmp eq i32 %.1102, 0
  br i1 %cond869, label %B1560.endif, label %B1560.if.if, !prof !20

B1634:                                            ; preds = %B1456
  %.1189 = icmp eq i8 %.883, 123
  br i1 %.1189, label %B1646, label %B1784

B1646:                                            ; preds = %B1634
  %.1195 = add nsw i64 %i.3.1.i35, 1
  %.12.i37 = inttoptr i64 %.1195 to ptr
  %.13.i38 = load i8, ptr %.12.i37, align 1, !noalias !27
  %63 = zext i8 %.13.i38 to i32
  switch i32 %63, label %B1646.endif [
    i32 32, label %B82.preheader.i39
    i32 10, label %B82.preheader.i39
    i32 13, label %B82.preheader.i39
    i32 9, label %B82.preheader.i39
  ]

B82.preheader.i39:                                ; preds = %B1646, %B1646, %B1646, %B1646
  %64 = add i64 %i.3.1.i35, 2
  br label %B82.i40

B82.i40:                                          ; preds = %B82.backedge.i44, %B82.preheader.i39
  %lsr.iv.i41 = phi i64 [ %lsr.iv.next.i45, %B82.backedge.i44 ], [ %64, %B82.preheader.i39 ]
  %.61.i42 = inttoptr i64 %lsr.iv.i41 to ptr
  %.62.i43 = load i8, ptr %.61.i42, align 1, !noalias !27
  %65 = zext i8 %.62.i43 to i32
  switch i32 %65, label %B1646.endif.loopexit [
    i32 32, label %B82.backedge.i44
    i32 10, label %B82.backedge.i44
    i32 13, label %B82.backedge.i44
    i32 9, label %B82.backedge.i44
  ]

B82.backedge.i44:                                 ; preds = %B82.i40, %B82.i40, %B82.i40, %B82.i40
  %lsr.iv.next.i45 = add i64 %lsr.iv.i41, 1
  br label %B82.i40

B1770:                                            ; preds = %B1646.endif
  %.1313 = add nsw i64 %i.3.1.i47, 1
  br label %B4932

B1784:                                            ; preds = %B1634
  %.9.i = load i64, ptr %.882.pre-phi, align 1, !noalias !30
  %trunc.i = trunc i64 %.9.i to i32
  switch i32 %trunc.i, label %B80.i [
    i32 1702195828, label %B70.i
    i32 1819047278, label %B70.i
  ]

B70.i:                                            ; preds = %B1784, %B1784
  %.24.i = add nsw i64 %i.3.1.i35, 4
  br label %B1784.endif

B80.i:                                            ; preds = %B1784
  %const1325 = bitcast i64 1099511627775 to i64
  %const = bitcast i64 435728179558 to i64
  %.30.i183 = and i64 %.9.i, %const1325
  %.33.i = icmp eq i64 %.30.i183, %const
  %.36.i = add nsw i64 %i.3.1.i35, 5
  %spec.select.i = select i1 %.33.i, i64 %.36.i, i64 -1
  br label %B1784.endif

B1846:                                            ; preds = %B1456
  %66 = zext i8 %.883 to i32
  switch i32 %66, label %B2138 [
    i32 110, label %B1882
    i32 116, label %B1882
    i32 102, label %B1882
  ]

B1882:                                            ; preds = %B1846, %B1846, %B1846
  %.9.i185 = load i64, ptr %.882.pre-phi, align 1, !noalias !33
  %trunc.i186 = trunc i64 %.9.i185 to i32
  switch i32 %trunc.i186, label %B80.i190 [
    i32 1702195828, label %B70.i187
    i32 1819047278, label %B70.i187
  ]

B70.i187:                                         ; preds = %B1882, %B1882
  %.24.i188 = add nsw i64 %i.3.1.i35, 4
  br label %B1882.endif

B80.i190:                                         ; preds = %B1882
  %const1326 = bitcast i64 1099511627775 to i64
  %const1321 = bitcast i64 435728179558 to i64
  %.30.i191 = and i64 %.9.i185, %const1326
  %.33.i192 = icmp eq i64 %.30.i191, %const1321
  %.36.i193 = add nsw i64 %i.3.1.i35, 5
  br i1 %.33.i192, label %B1882.endif, label %B5764.critedge

B1932:                                            ; preds = %B1882.endif
  switch i64 %.909, label %B2106 [
    i64 6, label %B1954
    i64 4, label %B5764.critedge
  ]

B1954:                                            ; preds = %B1932
  %.1519 = or i64 %61, %has.8.2.ph
  %.1525 = shl nsw i64 %.921, 4
  %.1527 = add nsw i64 %.1525, %.35
  %.1529 = inttoptr i64 %.1527 to ptr
  store i64 %i.3.1.i35, ptr %.1529, align 1
  %.1537 = add nsw i64 %.1527, 8
  %reass.sub939 = sub i64 %.sink.i189, %i.3.1.i35
  %.1545 = add i64 %reass.sub939, 1
  %.1546 = inttoptr i64 %.1537 to ptr
  store i64 %.1545, ptr %.1546, align 1
  br label %B4932

B2106:                                            ; preds = %B1932
  %.1595.not = icmp eq i8 %.883, 110
  %.1604 = select i1 %.1595.not, i64 0, i64 %61
  %spec.select2927 = or i64 %.1604, %odd.5.2.ph
  br label %B4932

B2138:                                            ; preds = %B1846
  %.1636 = icmp eq i64 %.909, 6
  br i1 %.1636, label %B2160, label %B2338

B2160:                                            ; preds = %B2138
  store i64 0, ptr %.1645, align 8
  %.1649 = call i32 @f2(ptr nonnull %.1645, ptr nonnull %excinfo.14, i64 %i.3.1.i35, i64 %.13.i852)
  %.1659 = load i64, ptr %.1645, align 8
  %cond865 = icmp eq i32 %.1649, 0
  br i1 %cond865, label %B2160.endif, label %B2160.if.if, !prof !20

B2208:                                            ; preds = %B2160.endif
  %.1722 = or i64 %61, %has.8.2.ph
  %.1728 = shl nsw i64 %.921, 4
  %.1730 = add nsw i64 %.1728, %.35
  %.1732 = inttoptr i64 %.1730 to ptr
  store i64 %i.3.1.i35, ptr %.1732, align 1
  %.1740 = add nsw i64 %.1730, 8
  %reass.sub940 = sub i64 %.1659, %i.3.1.i35
  %.1746 = add i64 %reass.sub940, 1
  %.1747 = inttoptr i64 %.1740 to ptr
  store i64 %.1746, ptr %.1747, align 1
  br label %B4932

B2338:                                            ; preds = %B2138
  %.1756 = icmp eq i8 %.883, 34
  br i1 %.1756, label %B2352, label %B3252

B2352:                                            ; preds = %B2338
  %.1761 = add nsw i64 %i.3.1.i35, 1
  store i64 0, ptr %.1770, align 8
  %.1774 = call i32 @f1(ptr nonnull %.1770, ptr nonnull %excinfo.15, i64 %.1761, i64 %.13.i852)
  %.1784 = load i64, ptr %.1770, align 8
  %cond867 = icmp eq i32 %.1774, 0
  br i1 %cond867, label %B2352.endif, label %B2352.if.if, !prof !20

B2410:                                            ; preds = %B2352.endif
  %.1842 = lshr i64 %.1784, 3
  %.1849 = and i64 %.1784, 2
  %.1850.not = icmp ne i64 %.1849, 0
  %.18198.i = icmp slt i64 %.1761, %.1842
  %or.cond = select i1 %.1850.not, i1 %.18198.i, i1 false
  br i1 %or.cond, label %B16.i.preheader, label %B2486

B16.i.preheader:                                  ; preds = %B2410
  br label %B16.i

B16.i:                                            ; preds = %B408.i, %B58.i, %B16.i.preheader
  %i.4.1.i = phi i64 [ %.1761, %B16.i.preheader ], [ %.38.i861, %B58.i ], [ %.460.i, %B408.i ]
  %.26.i854 = inttoptr i64 %i.4.1.i to ptr
  %.27.i855 = load i8, ptr %.26.i854, align 1, !noalias !36
  %67 = zext i8 %.27.i855 to i32
  %.33.i856 = icmp sgt i8 %.27.i855, -1
  br i1 %.33.i856, label %B58.i, label %B70.i857

B58.i:                                            ; preds = %B16.i
  %.38.i861 = add nsw i64 %i.4.1.i, 1
  %.18.i862 = icmp slt i64 %.38.i861, %.1842
  br i1 %.18.i862, label %B16.i, label %B2486

B70.i857:                                         ; preds = %B16.i
  %68 = trunc i32 %67 to i8
  %69 = add nsw i8 %68, 62
  %or.cond.i858 = icmp ult i8 %69, 30
  br i1 %or.cond.i858, label %B266.i, label %B118.i

B118.i:                                           ; preds = %B70.i857
  %70 = trunc i32 %67 to i8
  %71 = and i8 %70, -16
  %or.cond169.i = icmp eq i8 %71, -32
  br i1 %or.cond169.i, label %B150.i, label %B190.i

B150.i:                                           ; preds = %B118.i
  switch i32 %67, label %B266.fold.split.i [
    i32 224, label %B266.i
    i32 237, label %B184.i
  ]

B184.i:                                           ; preds = %B150.i
  br label %B266.i

B190.i:                                           ; preds = %B118.i
  %72 = trunc i32 %67 to i8
  %73 = add nsw i8 %72, 16
  %or.cond170.i = icmp ult i8 %73, 5
  br i1 %or.cond170.i, label %B222.i, label %B5764.critedge

B222.i:                                           ; preds = %B190.i
  %74 = trunc i32 %67 to i8
  %75 = zext i8 %74 to i32
  switch i32 %75, label %B266.fold.split171.i [
    i32 240, label %B266.i
    i32 244, label %B256.i
  ]

B256.i:                                           ; preds = %B222.i
  br label %B266.i

B266.fold.split.i:                                ; preds = %B150.i
  br label %B266.i

B266.fold.split171.i:                             ; preds = %B222.i
  br label %B266.i

B266.i:                                           ; preds = %B266.fold.split171.i, %B266.fold.split.i, %B256.i, %B222.i, %B184.i, %B150.i, %B70.i857
  %low.5.2.i = phi i64 [ 144, %B222.i ], [ 128, %B70.i857 ], [ 160, %B150.i ], [ 128, %B266.fold.split.i ], [ 128, %B184.i ], [ 128, %B256.i ], [ 128, %B266.fold.split171.i ]
  %high.5.2.i = phi i64 [ 191, %B222.i ], [ 191, %B70.i857 ], [ 191, %B150.i ], [ 191, %B266.fold.split.i ], [ 159, %B184.i ], [ 143, %B256.i ], [ 191, %B266.fold.split171.i ]
  %more.3.2.i = phi i64 [ 3, %B222.i ], [ 1, %B70.i857 ], [ 2, %B150.i ], [ 2, %B266.fold.split.i ], [ 2, %B184.i ], [ 3, %B256.i ], [ 3, %B266.fold.split171.i ]
  %.251.i859 = add nsw i64 %more.3.2.i, %i.4.1.i
  %.253.not.i = icmp slt i64 %.251.i859, %.1842
  br i1 %.253.not.i, label %B328.peel.i, label %B5764.critedge

B328.peel.i:                                      ; preds = %B266.i
  %76 = add nuw nsw i64 %more.3.2.i, 1
  %.402.peel.i = add nsw i64 %i.4.1.i, 1
  %.403.peel.i = inttoptr i64 %.402.peel.i to ptr
  %.404.peel.i = load i8, ptr %.403.peel.i, align 1, !noalias !36
  %.405.peel.i = zext i8 %.404.peel.i to i64
  %.411.peel.i = icmp samesign ugt i64 %low.5.2.i, %.405.peel.i
  %.417.peel.i = icmp samesign ult i64 %high.5.2.i, %.405.peel.i
  %or.cond172.peel.i = select i1 %.411.peel.i, i1 true, i1 %.417.peel.i
  br i1 %or.cond172.peel.i, label %B5764.critedge, label %B326.i

B326.i:                                           ; preds = %B328.peel.i
  %exitcond.not.i860 = icmp eq i64 %76, 2
  br i1 %exitcond.not.i860, label %B408.i, label %B328.i

B328.i:                                           ; preds = %B326.i
  %.402.i = add nsw i64 %i.4.1.i, 2
  %.403.i = inttoptr i64 %.402.i to ptr
  %.404.i = load i8, ptr %.403.i, align 1, !noalias !36
  %or.cond172.i = icmp sgt i8 %.404.i, -65
  br i1 %or.cond172.i, label %B5764.critedge, label %B326.1.i, !llvm.loop !39

B326.1.i:                                         ; preds = %B328.i
  %exitcond.not.1.i = icmp eq i64 %76, 3
  br i1 %exitcond.not.1.i, label %B408.i, label %B328.1.i

B328.1.i:                                         ; preds = %B326.1.i
  %.402.1.i = add nsw i64 %i.4.1.i, 3
  %.403.1.i = inttoptr i64 %.402.1.i to ptr
  %.404.1.i = load i8, ptr %.403.1.i, align 1, !noalias !36
  %or.cond172.1.i = icmp slt i8 %.404.1.i, -64
  br i1 %or.cond172.1.i, label %B408.i, label %B5764.critedge, !llvm.loop !39

B408.i:                                           ; preds = %B328.1.i, %B326.1.i, %B326.i
  %.460.i = add nsw i64 %more.3.2.i, %.402.peel.i
  %.464.i = icmp slt i64 %.460.i, %.1842
  br i1 %.464.i, label %B16.i, label %B2486

B2486:                                            ; preds = %B408.i, %B58.i, %B2410
  %.1928 = icmp eq i64 %.909, 5
  br i1 %.1928, label %B2508, label %B2702

B2508:                                            ; preds = %B2486
  %.1933 = and i64 %.1784, 4
  %.1934.not = icmp eq i64 %.1933, 0
  br i1 %.1934.not, label %B2528, label %B2560

B2528:                                            ; preds = %B2508
  %.1941 = and i64 %.1784, 1
  %.1944 = icmp ne i64 %.1941, 0
  %.1950 = icmp slt i64 %.921, 2
  %or.cond1495 = and i1 %.1950, %.1944
  br i1 %or.cond1495, label %B2560, label %B2576

B2560:                                            ; preds = %B2528, %B2508
  %.1957 = or i64 %61, %odd.5.2.ph
  br label %B2576

B2576:                                            ; preds = %B2560, %B2528
  %odd.9.6 = phi i64 [ %.1957, %B2560 ], [ %odd.5.2.ph, %B2528 ]
  %.1974 = or i64 %61, %has.8.2.ph
  %.1981 = shl nsw i64 %.921, 4
  %.1983 = add nsw i64 %.1981, %.35
  %.1985 = inttoptr i64 %.1983 to ptr
  store i64 %.1761, ptr %.1985, align 1
  %.1993 = add nsw i64 %.1983, 8
  %.1999 = sub i64 %.1842, %i.3.1.i35
  %.2000 = inttoptr i64 %.1993 to ptr
  store i64 %.1999, ptr %.2000, align 1
  br label %B3238

B2702:                                            ; preds = %B2486
  %77 = and i64 %.909, -2
  %78 = icmp eq i64 %77, 2
  br i1 %78, label %B2746, label %B3196

B2746:                                            ; preds = %B2702
  %const1350 = bitcast i64 -9187201950435737472 to i64
  %const1339 = bitcast i64 8536140394893047414 to i64
  %const1336 = bitcast i64 3472328296227680304 to i64
  %const1332 = bitcast i64 4294967296000100 to i64
  %const1329 = bitcast i64 42949672960001 to i64
  %const1324 = bitcast i64 1095216660735 to i64
  %.2010 = inttoptr i64 %.1761 to ptr
  %.2011 = load i8, ptr %.2010, align 1
  %.2013 = icmp eq i8 %.2011, 45
  %.2021.neg2146.neg = zext i1 %.2013 to i64
  %.2022 = add nsw i64 %.1761, %.2021.neg2146.neg
  br label %B10.i

B10.i:                                            ; preds = %B210.i, %B2746
  %i.2.0.i = phi i64 [ %.2022, %B2746 ], [ %.128.i, %B210.i ]
  %value.2.0.i = phi i64 [ 0, %B2746 ], [ %.122.i, %B210.i ]
  %.16.i = inttoptr i64 %i.2.0.i to ptr
  %.17.i196 = load i64, ptr %.16.i, align 1, !noalias !41
  %.18.i197 = xor i64 %.17.i196, %const1336
  %.27.i198 = add i64 %.18.i197, %const1339
  %.29.i = or i64 %.27.i198, %.17.i196
  %.30.i199 = and i64 %.29.i, %const1350
  %.38.not.i = icmp eq i64 %.30.i199, 0
  br i1 %.38.not.i, label %B210.i, label %B106.i

B106.i:                                           ; preds = %B10.i
  %.45.i = tail call range(i64 7, 65) i64 @llvm.cttz.i64(i64 %.30.i199, i1 true)
  %.48.i = lshr i64 %.45.i, 3
  %.53.i200 = icmp eq i64 %.48.i, 0
  br i1 %.53.i200, label %B2746.endif, label %B162.i

B162.i:                                           ; preds = %B106.i
  %.81.i = and i64 %.45.i, 56
  %.84.i = sub nuw nsw i64 64, %.81.i
  %.86.i = shl i64 %.18.i197, %.84.i
  br label %B210.i

B210.i:                                           ; preds = %B162.i, %B10.i
  %word.3.1.i = phi i64 [ %.86.i, %B162.i ], [ %.18.i197, %B10.i ]
  %k.2.1.i = phi i64 [ %.48.i, %B162.i ], [ 8, %B10.i ]
  %.97.i201 = mul i64 %word.3.1.i, 10
  %.99.i202 = lshr i64 %word.3.1.i, 8
  %.103.i = add i64 %.97.i201, %.99.i202
  %.104.i = and i64 %.103.i, %const1324
  %.105.i = mul i64 %.104.i, %const1332
  %.106.i = lshr i64 %.103.i, 16
  %.107.i203 = and i64 %.106.i, %const1324
  %.108.i204 = mul i64 %.107.i203, %const1329
  %.110.i205 = shl nuw nsw i64 %k.2.1.i, 3
  %.112.i = add nsw i64 %.110.i205, %.27
  %.113.i = inttoptr i64 %.112.i to ptr
  %.114.i = load i64, ptr %.113.i, align 1, !noalias !41
  %.116.i = mul i64 %.114.i, %value.2.0.i
  %.119.i = add i64 %.108.i204, %.105.i
  %.120.i = lshr i64 %.119.i, 32
  %.122.i = add i64 %.120.i, %.116.i
  %.128.i = add nsw i64 %k.2.1.i, %i.2.0.i
  %.135.i = icmp samesign ult i64 %k.2.1.i, 8
  br i1 %.135.i, label %B2746.endif, label %B10.i

B2858:                                            ; preds = %B2746.endif
  %79 = sub i64 %i.3.1.i35, %.1842
  %80 = add i64 %79, %.2021.neg2146.neg
  %.2083 = icmp sgt i64 %80, -20
  br i1 %.2083, label %B2882, label %B3004

B2882:                                            ; preds = %B2858
  %81 = icmp eq i8 %.2011, 45
  %.2094 = or i64 %61, %has.8.2.ph
  %.2101 = shl nsw i64 %.921, 4
  %.2103 = add nsw i64 %.2101, %.35
  %.2115 = sub i64 0, %.122.lcssa.sink.i
  %spec.select = select i1 %81, i64 %.2115, i64 %.122.lcssa.sink.i
  %.2140 = inttoptr i64 %.2103 to ptr
  store i64 %spec.select, ptr %.2140, align 1
  %.2154 = add nsw i64 %.2103, 8
  %.2155 = inttoptr i64 %.2154 to ptr
  store i64 0, ptr %.2155, align 1
  br label %B3238

B3004:                                            ; preds = %B2746.endif, %B2858
  %82 = icmp eq i64 %.909, 3
  %.2170 = and i64 %.1784, 4
  %.2173 = icmp eq i64 %.2170, 0
  %or.cond1498 = and i1 %82, %.2173
  br i1 %or.cond1498, label %B3054, label %B3178

B3054:                                            ; preds = %B3004
  %.2183 = or i64 %61, %has.8.2.ph
  %.2189 = shl nsw i64 %.921, 4
  %.2191 = add nsw i64 %.2189, %.35
  %.2193 = inttoptr i64 %.2191 to ptr
  store i64 %.1761, ptr %.2193, align 1
  %.2201 = add nsw i64 %.2191, 8
  %.2207 = sub i64 %.1842, %i.3.1.i35
  %.2208 = inttoptr i64 %.2201 to ptr
  store i64 %.2207, ptr %.2208, align 1
  br label %B3238

B3178:                                            ; preds = %B3004
  %.2225 = or i64 %61, %odd.5.2.ph
  br label %B3238

B3196:                                            ; preds = %B2702
  %.2234 = icmp eq i64 %.909, 4
  br i1 %.2234, label %B5764.critedge, label %B3222

B3222:                                            ; preds = %B3196
  %.2284 = or i64 %61, %odd.5.2.ph
  br label %B3238

B3238:                                            ; preds = %B3222, %B3178, %B3054, %B2882, %B2576
  %odd.8.5 = phi i64 [ %odd.9.6, %B2576 ], [ %odd.5.2.ph, %B2882 ], [ %odd.5.2.ph, %B3054 ], [ %.2225, %B3178 ], [ %.2284, %B3222 ]
  %has.11.5 = phi i64 [ %.1974, %B2576 ], [ %.2094, %B2882 ], [ %.2183, %B3054 ], [ %has.8.2.ph, %B3178 ], [ %has.8.2.ph, %B3222 ]
  %.2306 = add nuw nsw i64 %.1842, 1
  br label %B4932

B3252:                                            ; preds = %B2338
  %.2313 = icmp eq i64 %.909, 8
  br i1 %.2313, label %B3274, label %B3756

B3274:                                            ; preds = %B3252
  %.2318.not = icmp eq i8 %.883, 91
  br i1 %.2318.not, label %B3326.preheader, label %B5764.critedge

B3326.preheader:                                  ; preds = %B3274
  %.2491 = add nsw i64 %i.3.1.i35, 1
  %.12.i49 = inttoptr i64 %.2491 to ptr
  %.13.i50 = load i8, ptr %.12.i49, align 1, !noalias !44
  %83 = zext i8 %.13.i50 to i32
  switch i32 %83, label %B3326.endif [
    i32 32, label %B82.preheader.i51
    i32 10, label %B82.preheader.i51
    i32 13, label %B82.preheader.i51
    i32 9, label %B82.preheader.i51
  ]

B82.preheader.i51:                                ; preds = %B3326.preheader, %B3326.preheader, %B3326.preheader, %B3326.preheader
  %84 = add i64 %i.3.1.i35, 2
  br label %B82.i52

B82.i52:                                          ; preds = %B82.backedge.i56, %B82.preheader.i51
  %lsr.iv.i53 = phi i64 [ %lsr.iv.next.i57, %B82.backedge.i56 ], [ %84, %B82.preheader.i51 ]
  %.61.i54 = inttoptr i64 %lsr.iv.i53 to ptr
  %.62.i55 = load i8, ptr %.61.i54, align 1, !noalias !44
  %85 = zext i8 %.62.i55 to i32
  switch i32 %85, label %B3326.endif.loopexit [
    i32 32, label %B82.backedge.i56
    i32 10, label %B82.backedge.i56
    i32 13, label %B82.backedge.i56
    i32 9, label %B82.backedge.i56
  ]

B82.backedge.i56:                                 ; preds = %B82.i52, %B82.i52, %B82.i52, %B82.i52
  %lsr.iv.next.i57 = add i64 %lsr.iv.i53, 1
  br label %B82.i52

B3444:                                            ; preds = %B3326.endif.endif
  %.2578 = icmp eq i8 %.2576, 48
  %.2581 = add nsw i64 %i.3.1.i59, 1
  %.2583 = icmp sgt i64 %.128.lcssa.sink.i461, %.2581
  %or.cond1501 = select i1 %.2578, i1 %.2583, i1 false
  br i1 %or.cond1501, label %B5764.critedge, label %B3504

B3504:                                            ; preds = %B3444
  %.2604 = shl nsw i64 %.921, 4
  %.2606 = add nsw i64 %.2604, %.35
  %.2608 = inttoptr i64 %.2606 to ptr
  store i64 %.122.lcssa.sink.i460, ptr %.2608, align 1
  %.2618 = add nsw i64 %.2606, 8
  %.2619 = inttoptr i64 %.2618 to ptr
  store i64 0, ptr %.2619, align 1
  %.12.i61 = inttoptr i64 %.128.lcssa.sink.i461 to ptr
  %.13.i62 = load i8, ptr %.12.i61, align 1, !noalias !47
  %86 = zext i8 %.13.i62 to i32
  switch i32 %86, label %B3504.endif [
    i32 32, label %B82.i64.preheader
    i32 10, label %B82.i64.preheader
    i32 13, label %B82.i64.preheader
    i32 9, label %B82.i64.preheader
  ]

B82.i64.preheader:                                ; preds = %B3504, %B3504, %B3504, %B3504
  %87 = add i64 %.128.lcssa.sink.i461, 1
  br label %B82.i64

B82.i64:                                          ; preds = %B82.i64.backedge, %B82.i64.preheader
  %lsr.iv1303 = phi i64 [ %lsr.iv.next1304, %B82.i64.backedge ], [ %87, %B82.i64.preheader ]
  %.61.i66 = inttoptr i64 %lsr.iv1303 to ptr
  %.62.i67 = load i8, ptr %.61.i66, align 1, !noalias !47
  %88 = zext i8 %.62.i67 to i32
  switch i32 %88, label %B3504.endif.loopexit [
    i32 32, label %B82.i64.backedge
    i32 10, label %B82.i64.backedge
    i32 13, label %B82.i64.backedge
    i32 9, label %B82.i64.backedge
  ]

B82.i64.backedge:                                 ; preds = %B82.i64, %B82.i64, %B82.i64, %B82.i64
  %lsr.iv.next1304 = add i64 %lsr.iv1303, 1
  br label %B82.i64

B3698:                                            ; preds = %B3504.endif
  %.2491.1 = add nsw i64 %i.3.1.i71, 1
  %.12.i73 = inttoptr i64 %.2491.1 to ptr
  %.13.i74 = load i8, ptr %.12.i73, align 1, !noalias !50
  %89 = zext i8 %.13.i74 to i32
  switch i32 %89, label %B3326.endif.1 [
    i32 32, label %B82.preheader.i75
    i32 10, label %B82.preheader.i75
    i32 13, label %B82.preheader.i75
    i32 9, label %B82.preheader.i75
  ]

B82.preheader.i75:                                ; preds = %B3698, %B3698, %B3698, %B3698
  %90 = add i64 %i.3.1.i71, 2
  br label %B82.i76

B82.i76:                                          ; preds = %B82.backedge.i80, %B82.preheader.i75
  %lsr.iv.i77 = phi i64 [ %lsr.iv.next.i81, %B82.backedge.i80 ], [ %90, %B82.preheader.i75 ]
  %.61.i78 = inttoptr i64 %lsr.iv.i77 to ptr
  %.62.i79 = load i8, ptr %.61.i78, align 1, !noalias !50
  %91 = zext i8 %.62.i79 to i32
  switch i32 %91, label %B3326.endif.1.loopexit [
    i32 32, label %B82.backedge.i80
    i32 10, label %B82.backedge.i80
    i32 13, label %B82.backedge.i80
    i32 9, label %B82.backedge.i80
  ]

B82.backedge.i80:                                 ; preds = %B82.i76, %B82.i76, %B82.i76, %B82.i76
  %lsr.iv.next.i81 = add i64 %lsr.iv.i77, 1
  br label %B82.i76

B3326.endif.1.loopexit:                           ; preds = %B82.i76
  br label %B3326.endif.1

B3326.endif.1:                                    ; preds = %B3326.endif.1.loopexit, %B3698
  %.2576.1 = phi i8 [ %.13.i74, %B3698 ], [ %.62.i79, %B3326.endif.1.loopexit ]
  %i.3.1.i83 = phi i64 [ %.2491.1, %B3698 ], [ %lsr.iv.i77, %B3326.endif.1.loopexit ]
  br label %B10.i206

B10.i206:                                         ; preds = %B210.i224, %B3326.endif.1
  %i.2.0.i207 = phi i64 [ %i.3.1.i83, %B3326.endif.1 ], [ %.128.i243, %B210.i224 ]
  %value.2.0.i208 = phi i64 [ 0, %B3326.endif.1 ], [ %.122.i242, %B210.i224 ]
  %.16.i209 = inttoptr i64 %i.2.0.i207 to ptr
  %.17.i210 = load i64, ptr %.16.i209, align 1, !noalias !53
  %.18.i211 = xor i64 %.17.i210, %const1335
  %.27.i212 = add i64 %.18.i211, %const1338
  %.29.i213 = or i64 %.27.i212, %.17.i210
  %.30.i214 = and i64 %.29.i213, %const1349
  %.38.not.i215 = icmp eq i64 %.30.i214, 0
  br i1 %.38.not.i215, label %B210.i224, label %B106.i216

B106.i216:                                        ; preds = %B10.i206
  %.45.i217 = tail call range(i64 7, 65) i64 @llvm.cttz.i64(i64 %.30.i214, i1 true)
  %.48.i218 = lshr i64 %.45.i217, 3
  %.53.i219 = icmp eq i64 %.48.i218, 0
  br i1 %.53.i219, label %B3326.endif.endif.1, label %B162.i220

B162.i220:                                        ; preds = %B106.i216
  %.81.i221 = and i64 %.45.i217, 56
  %.84.i222 = sub nuw nsw i64 64, %.81.i221
  %.86.i223 = shl i64 %.18.i211, %.84.i222
  br label %B210.i224

B210.i224:                                        ; preds = %B162.i220, %B10.i206
  %word.3.1.i225 = phi i64 [ %.86.i223, %B162.i220 ], [ %.18.i211, %B10.i206 ]
  %k.2.1.i226 = phi i64 [ %.48.i218, %B162.i220 ], [ 8, %B10.i206 ]
  %.97.i227 = mul i64 %word.3.1.i225, 10
  %.99.i228 = lshr i64 %word.3.1.i225, 8
  %.103.i229 = add i64 %.97.i227, %.99.i228
  %.104.i230 = and i64 %.103.i229, %const1323
  %.105.i231 = mul i64 %.104.i230, %const1331
  %.106.i232 = lshr i64 %.103.i229, 16
  %.107.i233 = and i64 %.106.i232, %const1323
  %.108.i234 = mul i64 %.107.i233, %const1328
  %.110.i235 = shl nuw nsw i64 %k.2.1.i226, 3
  %.112.i236 = add nsw i64 %.110.i235, %.27
  %.113.i237 = inttoptr i64 %.112.i236 to ptr
  %.114.i238 = load i64, ptr %.113.i237, align 1, !noalias !53
  %.116.i239 = mul i64 %.114.i238, %value.2.0.i208
  %.119.i240 = add i64 %.108.i234, %.105.i231
  %.120.i241 = lshr i64 %.119.i240, 32
  %.122.i242 = add i64 %.120.i241, %.116.i239
  %.128.i243 = add nsw i64 %k.2.1.i226, %i.2.0.i207
  %.135.i244 = icmp samesign ult i64 %k.2.1.i226, 8
  br i1 %.135.i244, label %B3326.endif.endif.1, label %B10.i206

B3326.endif.endif.1:                              ; preds = %B210.i224, %B106.i216
  %.122.lcssa.sink.i245 = phi i64 [ %value.2.0.i208, %B106.i216 ], [ %.122.i242, %B210.i224 ]
  %.128.lcssa.sink.i246 = phi i64 [ %i.2.0.i207, %B106.i216 ], [ %.128.i243, %B210.i224 ]
  %.2564.1 = icmp eq i64 %.128.lcssa.sink.i246, %i.3.1.i83
  %.2568.1 = sub nsw i64 %.128.lcssa.sink.i246, %i.3.1.i83
  %.2569.1 = icmp sgt i64 %.2568.1, 10
  %or.cond1499.1 = select i1 %.2564.1, i1 true, i1 %.2569.1
  %.2572.1 = icmp sgt i64 %.122.lcssa.sink.i245, 2147483647
  %or.cond1500.1 = select i1 %or.cond1499.1, i1 true, i1 %.2572.1
  br i1 %or.cond1500.1, label %B5764.critedge, label %B3444.1

B3444.1:                                          ; preds = %B3326.endif.endif.1
  %.2578.1 = icmp eq i8 %.2576.1, 48
  %.2581.1 = add nsw i64 %i.3.1.i83, 1
  %.2583.1 = icmp sgt i64 %.128.lcssa.sink.i246, %.2581.1
  %or.cond1501.1 = select i1 %.2578.1, i1 %.2583.1, i1 false
  br i1 %or.cond1501.1, label %B5764.critedge, label %B3504.1

B3504.1:                                          ; preds = %B3444.1
  %sunkaddr1375 = inttoptr i64 %.35 to ptr
  %sunkaddr1376 = getelementptr i8, ptr %sunkaddr1375, i64 %.2604
  %sunkaddr1377 = getelementptr i8, ptr %sunkaddr1376, i64 16
  store i64 %.122.lcssa.sink.i245, ptr %sunkaddr1377, align 1
  %sunkaddr1378 = inttoptr i64 %.35 to ptr
  %sunkaddr1379 = getelementptr i8, ptr %sunkaddr1378, i64 %.2604
  %sunkaddr1380 = getelementptr i8, ptr %sunkaddr1379, i64 24
  store i64 0, ptr %sunkaddr1380, align 1
  %.12.i85 = inttoptr i64 %.128.lcssa.sink.i246 to ptr
  %.13.i86 = load i8, ptr %.12.i85, align 1, !noalias !56
  %92 = zext i8 %.13.i86 to i32
  switch i32 %92, label %B3504.endif.1 [
    i32 32, label %B82.i88.preheader
    i32 10, label %B82.i88.preheader
    i32 13, label %B82.i88.preheader
    i32 9, label %B82.i88.preheader
  ]

B82.i88.preheader:                                ; preds = %B3504.1, %B3504.1, %B3504.1, %B3504.1
  %93 = add i64 %.128.lcssa.sink.i246, 1
  br label %B82.i88

B82.i88:                                          ; preds = %B82.i88.backedge, %B82.i88.preheader
  %lsr.iv1305 = phi i64 [ %lsr.iv.next1306, %B82.i88.backedge ], [ %93, %B82.i88.preheader ]
  %.61.i90 = inttoptr i64 %lsr.iv1305 to ptr
  %.62.i91 = load i8, ptr %.61.i90, align 1, !noalias !56
  %94 = zext i8 %.62.i91 to i32
  switch i32 %94, label %B3504.endif.1.loopexit [
    i32 32, label %B82.i88.backedge
    i32 10, label %B82.i88.backedge
    i32 13, label %B82.i88.backedge
    i32 9, label %B82.i88.backedge
  ]

B82.i88.backedge:                                 ; preds = %B82.i88, %B82.i88, %B82.i88, %B82.i88
  %lsr.iv.next1306 = add i64 %lsr.iv1305, 1
  br label %B82.i88

B3504.endif.1.loopexit:                           ; preds = %B82.i88
  br label %B3504.endif.1

B3504.endif.1:                                    ; preds = %B3504.endif.1.loopexit, %B3504.1
  %.2654.1 = phi i8 [ %.13.i86, %B3504.1 ], [ %.62.i91, %B3504.endif.1.loopexit ]
  %i.3.1.i95 = phi i64 [ %.128.lcssa.sink.i246, %B3504.1 ], [ %lsr.iv1305, %B3504.endif.1.loopexit ]
  %.2673.not.1 = icmp eq i8 %.2654.1, 44
  br i1 %.2673.not.1, label %B3698.1, label %B5764.critedge

B3698.1:                                          ; preds = %B3504.endif.1
  %.2491.2 = add nsw i64 %i.3.1.i95, 1
  %.12.i97 = inttoptr i64 %.2491.2 to ptr
  %.13.i98 = load i8, ptr %.12.i97, align 1, !noalias !59
  %95 = zext i8 %.13.i98 to i32
  switch i32 %95, label %B3326.endif.2 [
    i32 32, label %B82.preheader.i99
    i32 10, label %B82.preheader.i99
    i32 13, label %B82.preheader.i99
    i32 9, label %B82.preheader.i99
  ]

B82.preheader.i99:                                ; preds = %B3698.1, %B3698.1, %B3698.1, %B3698.1
  %96 = add i64 %i.3.1.i95, 2
  br label %B82.i100

B82.i100:                                         ; preds = %B82.backedge.i104, %B82.preheader.i99
  %lsr.iv.i101 = phi i64 [ %lsr.iv.next.i105, %B82.backedge.i104 ], [ %96, %B82.preheader.i99 ]
  %.61.i102 = inttoptr i64 %lsr.iv.i101 to ptr
  %.62.i103 = load i8, ptr %.61.i102, align 1, !noalias !59
  %97 = zext i8 %.62.i103 to i32
  switch i32 %97, label %B3326.endif.2.loopexit [
    i32 32, label %B82.backedge.i104
    i32 10, label %B82.backedge.i104
    i32 13, label %B82.backedge.i104
    i32 9, label %B82.backedge.i104
  ]

B82.backedge.i104:                                ; preds = %B82.i100, %B82.i100, %B82.i100, %B82.i100
  %lsr.iv.next.i105 = add i64 %lsr.iv.i101, 1
  br label %B82.i100

B3326.endif.2.loopexit:                           ; preds = %B82.i100
  br label %B3326.endif.2

B3326.endif.2:                                    ; preds = %B3326.endif.2.loopexit, %B3698.1
  %.2576.2 = phi i8 [ %.13.i98, %B3698.1 ], [ %.62.i103, %B3326.endif.2.loopexit ]
  %i.3.1.i107 = phi i64 [ %.2491.2, %B3698.1 ], [ %lsr.iv.i101, %B3326.endif.2.loopexit ]
  br label %B10.i249

B10.i249:                                         ; preds = %B210.i267, %B3326.endif.2
  %i.2.0.i250 = phi i64 [ %i.3.1.i107, %B3326.endif.2 ], [ %.128.i286, %B210.i267 ]
  %value.2.0.i251 = phi i64 [ 0, %B3326.endif.2 ], [ %.122.i285, %B210.i267 ]
  %.16.i252 = inttoptr i64 %i.2.0.i250 to ptr
  %.17.i253 = load i64, ptr %.16.i252, align 1, !noalias !62
  %.18.i254 = xor i64 %.17.i253, %const1335
  %.27.i255 = add i64 %.18.i254, %const1338
  %.29.i256 = or i64 %.27.i255, %.17.i253
  %.30.i257 = and i64 %.29.i256, %const1349
  %.38.not.i258 = icmp eq i64 %.30.i257, 0
  br i1 %.38.not.i258, label %B210.i267, label %B106.i259

B106.i259:                                        ; preds = %B10.i249
  %.45.i260 = tail call range(i64 7, 65) i64 @llvm.cttz.i64(i64 %.30.i257, i1 true)
  %.48.i261 = lshr i64 %.45.i260, 3
  %.53.i262 = icmp eq i64 %.48.i261, 0
  br i1 %.53.i262, label %B3326.endif.endif.2, label %B162.i263

B162.i263:                                        ; preds = %B106.i259
  %.81.i264 = and i64 %.45.i260, 56
  %.84.i265 = sub nuw nsw i64 64, %.81.i264
  %.86.i266 = shl i64 %.18.i254, %.84.i265
  br label %B210.i267

B210.i267:                                        ; preds = %B162.i263, %B10.i249
  %word.3.1.i268 = phi i64 [ %.86.i266, %B162.i263 ], [ %.18.i254, %B10.i249 ]
  %k.2.1.i269 = phi i64 [ %.48.i261, %B162.i263 ], [ 8, %B10.i249 ]
  %.97.i270 = mul i64 %word.3.1.i268, 10
  %.99.i271 = lshr i64 %word.3.1.i268, 8
  %.103.i272 = add i64 %.97.i270, %.99.i271
  %.104.i273 = and i64 %.103.i272, %const1323
  %.105.i274 = mul i64 %.104.i273, %const1331
  %.106.i275 = lshr i64 %.103.i272, 16
  %.107.i276 = and i64 %.106.i275, %const1323
  %.108.i277 = mul i64 %.107.i276, %const1328
  %.110.i278 = shl nuw nsw i64 %k.2.1.i269, 3
  %.112.i279 = add nsw i64 %.110.i278, %.27
  %.113.i280 = inttoptr i64 %.112.i279 to ptr
  %.114.i281 = load i64, ptr %.113.i280, align 1, !noalias !62
  %.116.i282 = mul i64 %.114.i281, %value.2.0.i251
  %.119.i283 = add i64 %.108.i277, %.105.i274
  %.120.i284 = lshr i64 %.119.i283, 32
  %.122.i285 = add i64 %.120.i284, %.116.i282
  %.128.i286 = add nsw i64 %k.2.1.i269, %i.2.0.i250
  %.135.i287 = icmp samesign ult i64 %k.2.1.i269, 8
  br i1 %.135.i287, label %B3326.endif.endif.2, label %B10.i249

B3326.endif.endif.2:                              ; preds = %B210.i267, %B106.i259
  %.122.lcssa.sink.i288 = phi i64 [ %value.2.0.i251, %B106.i259 ], [ %.122.i285, %B210.i267 ]
  %.128.lcssa.sink.i289 = phi i64 [ %i.2.0.i250, %B106.i259 ], [ %.128.i286, %B210.i267 ]
  %.2564.2 = icmp eq i64 %.128.lcssa.sink.i289, %i.3.1.i107
  %.2568.2 = sub nsw i64 %.128.lcssa.sink.i289, %i.3.1.i107
  %.2569.2 = icmp sgt i64 %.2568.2, 10
  %or.cond1499.2 = select i1 %.2564.2, i1 true, i1 %.2569.2
  %.2572.2 = icmp sgt i64 %.122.lcssa.sink.i288, 2147483647
  %or.cond1500.2 = select i1 %or.cond1499.2, i1 true, i1 %.2572.2
  br i1 %or.cond1500.2, label %B5764.critedge, label %B3444.2

B3444.2:                                          ; preds = %B3326.endif.endif.2
  %.2578.2 = icmp eq i8 %.2576.2, 48
  %.2581.2 = add nsw i64 %i.3.1.i107, 1
  %.2583.2 = icmp sgt i64 %.128.lcssa.sink.i289, %.2581.2
  %or.cond1501.2 = select i1 %.2578.2, i1 %.2583.2, i1 false
  br i1 %or.cond1501.2, label %B5764.critedge, label %B3504.2

B3504.2:                                          ; preds = %B3444.2
  %sunkaddr1381 = inttoptr i64 %.35 to ptr
  %sunkaddr1382 = getelementptr i8, ptr %sunkaddr1381, i64 %.2604
  %sunkaddr1383 = getelementptr i8, ptr %sunkaddr1382, i64 32
  store i64 %.122.lcssa.sink.i288, ptr %sunkaddr1383, align 1
  %sunkaddr1384 = inttoptr i64 %.35 to ptr
  %sunkaddr1385 = getelementptr i8, ptr %sunkaddr1384, i64 %.2604
  %sunkaddr1386 = getelementptr i8, ptr %sunkaddr1385, i64 40
  store i64 0, ptr %sunkaddr1386, align 1
  %.12.i109 = inttoptr i64 %.128.lcssa.sink.i289 to ptr
  %.13.i110 = load i8, ptr %.12.i109, align 1, !noalias !65
  %98 = zext i8 %.13.i110 to i32
  switch i32 %98, label %B3504.endif.2 [
    i32 32, label %B82.i112.preheader
    i32 10, label %B82.i112.preheader
    i32 13, label %B82.i112.preheader
    i32 9, label %B82.i112.preheader
  ]

B82.i112.preheader:                               ; preds = %B3504.2, %B3504.2, %B3504.2, %B3504.2
  %99 = add i64 %.128.lcssa.sink.i289, 1
  br label %B82.i112

B82.i112:                                         ; preds = %B82.i112.backedge, %B82.i112.preheader
  %lsr.iv1307 = phi i64 [ %lsr.iv.next1308, %B82.i112.backedge ], [ %99, %B82.i112.preheader ]
  %.61.i114 = inttoptr i64 %lsr.iv1307 to ptr
  %.62.i115 = load i8, ptr %.61.i114, align 1, !noalias !65
  %100 = zext i8 %.62.i115 to i32
  switch i32 %100, label %B3504.endif.2.loopexit [
    i32 32, label %B82.i112.backedge
    i32 10, label %B82.i112.backedge
    i32 13, label %B82.i112.backedge
    i32 9, label %B82.i112.backedge
  ]

B82.i112.backedge:                                ; preds = %B82.i112, %B82.i112, %B82.i112, %B82.i112
  %lsr.iv.next1308 = add i64 %lsr.iv1307, 1
  br label %B82.i112

B3504.endif.2.loopexit:                           ; preds = %B82.i112
  br label %B3504.endif.2

B3504.endif.2:                                    ; preds = %B3504.endif.2.loopexit, %B3504.2
  %.2654.2 = phi i8 [ %.13.i110, %B3504.2 ], [ %.62.i115, %B3504.endif.2.loopexit ]
  %i.3.1.i119 = phi i64 [ %.128.lcssa.sink.i289, %B3504.2 ], [ %lsr.iv1307, %B3504.endif.2.loopexit ]
  %.2673.not.2 = icmp eq i8 %.2654.2, 93
  br i1 %.2673.not.2, label %B3726, label %B5764.critedge

B3726:                                            ; preds = %B3504.endif.2
  %.2751 = shl i64 7, %.921
  %.2755 = or i64 %.2751, %has.8.2.ph
  %.2761 = add nsw i64 %i.3.1.i119, 1
  br label %B4932

B3756:                                            ; preds = %B3252
  %const1348 = bitcast i64 -9187201950435737472 to i64
  %const1337 = bitcast i64 8536140394893047414 to i64
  %const1334 = bitcast i64 3472328296227680304 to i64
  %const1330 = bitcast i64 4294967296000100 to i64
  %const1327 = bitcast i64 42949672960001 to i64
  %const1322 = bitcast i64 1095216660735 to i64
  %.2772 = icmp eq i8 %.883, 45
  %.2781 = zext i1 %.2772 to i64
  %spec.select1502 = add nsw i64 %i.3.1.i35, %.2781
  br label %B10.i292

B10.i292:                                         ; preds = %B210.i310, %B3756
  %i.2.0.i293 = phi i64 [ %spec.select1502, %B3756 ], [ %.128.i329, %B210.i310 ]
  %value.2.0.i294 = phi i64 [ 0, %B3756 ], [ %.122.i328, %B210.i310 ]
  %.16.i295 = inttoptr i64 %i.2.0.i293 to ptr
  %.17.i296 = load i64, ptr %.16.i295, align 1, !noalias !68
  %.18.i297 = xor i64 %.17.i296, %const1334
  %.27.i298 = add i64 %.18.i297, %const1337
  %.29.i299 = or i64 %.27.i298, %.17.i296
  %.30.i300 = and i64 %.29.i299, %const1348
  %.38.not.i301 = icmp eq i64 %.30.i300, 0
  br i1 %.38.not.i301, label %B210.i310, label %B106.i302

B106.i302:                                        ; preds = %B10.i292
  %.45.i303 = tail call range(i64 7, 65) i64 @llvm.cttz.i64(i64 %.30.i300, i1 true)
  %.48.i304 = lshr i64 %.45.i303, 3
  %.53.i305 = icmp eq i64 %.48.i304, 0
  br i1 %.53.i305, label %B3782.endif, label %B162.i306

B162.i306:                                        ; preds = %B106.i302
  %.81.i307 = and i64 %.45.i303, 56
  %.84.i308 = sub nuw nsw i64 64, %.81.i307
  %.86.i309 = shl i64 %.18.i297, %.84.i308
  br label %B210.i310

B210.i310:                                        ; preds = %B162.i306, %B10.i292
  %word.3.1.i311 = phi i64 [ %.86.i309, %B162.i306 ], [ %.18.i297, %B10.i292 ]
  %k.2.1.i312 = phi i64 [ %.48.i304, %B162.i306 ], [ 8, %B10.i292 ]
  %.97.i313 = mul i64 %word.3.1.i311, 10
  %.99.i314 = lshr i64 %word.3.1.i311, 8
  %.103.i315 = add i64 %.97.i313, %.99.i314
  %.104.i316 = and i64 %.103.i315, %const1322
  %.105.i317 = mul i64 %.104.i316, %const1330
  %.106.i318 = lshr i64 %.103.i315, 16
  %.107.i319 = and i64 %.106.i318, %const1322
  %.108.i320 = mul i64 %.107.i319, %const1327
  %.110.i321 = shl nuw nsw i64 %k.2.1.i312, 3
  %.112.i322 = add nsw i64 %.110.i321, %.27
  %.113.i323 = inttoptr i64 %.112.i322 to ptr
  %.114.i324 = load i64, ptr %.113.i323, align 1, !noalias !68
  %.116.i325 = mul i64 %.114.i324, %value.2.0.i294
  %.119.i326 = add i64 %.108.i320, %.105.i317
  %.120.i327 = lshr i64 %.119.i326, 32
  %.122.i328 = add i64 %.120.i327, %.116.i325
  %.128.i329 = add nsw i64 %k.2.1.i312, %i.2.0.i293
  %.135.i330 = icmp samesign ult i64 %k.2.1.i312, 8
  br i1 %.135.i330, label %B3782.endif, label %B10.i292

B3854:                                            ; preds = %B3782.endif
  %.2843 = inttoptr i64 %spec.select1502 to ptr
  %.2844 = load i8, ptr %.2843, align 1
  %.2846 = icmp eq i8 %.2844, 48
  %.2849 = icmp sgt i64 %.2832, 1
  %or.cond1504 = and i1 %.2849, %.2846
  br i1 %or.cond1504, label %B5764.critedge, label %B3908

B3908:                                            ; preds = %B3854
  %.2894 = inttoptr i64 %.128.lcssa.sink.i332 to ptr
  %.2895 = load i8, ptr %.2894, align 1
  %.2896 = zext i8 %.2895 to i64
  switch i64 %.909, label %B4770 [
    i64 4, label %B3960
    i64 7, label %B4404
    i64 5, label %B5764.critedge
  ]

B3960:                                            ; preds = %B3908
  %101 = icmp eq i8 %.883, 45
  %.2908 = icmp sgt i64 %.122.lcssa.sink.i331, 2305843009213692
  %.2913 = icmp eq i64 %.921, 6
  %or.cond1505 = and i1 %101, %.2913
  %or.cond1514 = or i1 %.2908, %or.cond1505
  br i1 %or.cond1514, label %B5764.critedge, label %B4002

B4002:                                            ; preds = %B3960
  %102 = trunc i64 %.2896 to i8
  %.2974 = mul nsw i64 %.122.lcssa.sink.i331, 1000
  %.2985 = icmp eq i8 %102, 46
  br i1 %.2985, label %B4024, label %B4770

B4024:                                            ; preds = %B4002
  %.3000 = icmp eq i64 %.921, 5
  %.3002 = or i1 %fractions.2.2.ph, %.3000
  %.3010 = add nsw i64 %.128.lcssa.sink.i332, 1
  br label %B10.i335

B10.i335:                                         ; preds = %B210.i353, %B4024
  %i.2.0.i336 = phi i64 [ %.3010, %B4024 ], [ %.128.i372, %B210.i353 ]
  %value.2.0.i337 = phi i64 [ 0, %B4024 ], [ %.122.i371, %B210.i353 ]
  %.16.i338 = inttoptr i64 %i.2.0.i336 to ptr
  %.17.i339 = load i64, ptr %.16.i338, align 1, !noalias !71
  %.18.i340 = xor i64 %.17.i339, %const1334
  %.27.i341 = add i64 %.18.i340, %const1337
  %.29.i342 = or i64 %.27.i341, %.17.i339
  %.30.i343 = and i64 %.29.i342, %const1348
  %.38.not.i344 = icmp eq i64 %.30.i343, 0
  br i1 %.38.not.i344, label %B210.i353, label %B106.i345

B106.i345:                                        ; preds = %B10.i335
  %.45.i346 = tail call range(i64 7, 65) i64 @llvm.cttz.i64(i64 %.30.i343, i1 true)
  %.48.i347 = lshr i64 %.45.i346, 3
  %.53.i348 = icmp eq i64 %.48.i347, 0
  br i1 %.53.i348, label %B4024.endif, label %B162.i349

B162.i349:                                        ; preds = %B106.i345
  %.81.i350 = and i64 %.45.i346, 56
  %.84.i351 = sub nuw nsw i64 64, %.81.i350
  %.86.i352 = shl i64 %.18.i340, %.84.i351
  br label %B210.i353

B210.i353:                                        ; preds = %B162.i349, %B10.i335
  %word.3.1.i354 = phi i64 [ %.86.i352, %B162.i349 ], [ %.18.i340, %B10.i335 ]
  %k.2.1.i355 = phi i64 [ %.48.i347, %B162.i349 ], [ 8, %B10.i335 ]
  %.97.i356 = mul i64 %word.3.1.i354, 10
  %.99.i357 = lshr i64 %word.3.1.i354, 8
  %.103.i358 = add i64 %.97.i356, %.99.i357
  %.104.i359 = and i64 %.103.i358, %const1322
  %.105.i360 = mul i64 %.104.i359, %const1330
  %.106.i361 = lshr i64 %.103.i358, 16
  %.107.i362 = and i64 %.106.i361, %const1322
  %.108.i363 = mul i64 %.107.i362, %const1327
  %.110.i364 = shl nuw nsw i64 %k.2.1.i355, 3
  %.112.i365 = add nsw i64 %.110.i364, %.27
  %.113.i366 = inttoptr i64 %.112.i365 to ptr
  %.114.i367 = load i64, ptr %.113.i366, align 1, !noalias !71
  %.116.i368 = mul i64 %.114.i367, %value.2.0.i337
  %.119.i369 = add i64 %.108.i363, %.105.i360
  %.120.i370 = lshr i64 %.119.i369, 32
  %.122.i371 = add i64 %.120.i370, %.116.i368
  %.128.i372 = add nsw i64 %k.2.1.i355, %i.2.0.i336
  %.135.i373 = icmp samesign ult i64 %k.2.1.i355, 8
  br i1 %.135.i373, label %B4024.endif, label %B10.i335

B4130:                                            ; preds = %B4024.endif
  %.3106 = icmp slt i64 %.3055, 4
  %103 = shl i64 %.3055, 3
  br i1 %.3106, label %B4142, label %B4204

B4142:                                            ; preds = %B4130
  %.3114 = sub i64 %reass.sub, %103
  %.3115 = inttoptr i64 %.3114 to ptr
  %.3116 = load i64, ptr %.3115, align 1
  %.3118 = mul nsw i64 %.3116, %.122.lcssa.sink.i374
  %.3122 = add nsw i64 %.3118, %.2974
  br label %B4346

B4204:                                            ; preds = %B4130
  %sunkaddr1387 = inttoptr i64 %.27 to ptr
  %sunkaddr1388 = getelementptr i8, ptr %sunkaddr1387, i64 %103
  %sunkaddr1389 = getelementptr i8, ptr %sunkaddr1388, i64 -24
  %.3137 = load i64, ptr %sunkaddr1389, align 1
  %.3145 = icmp eq i64 %.3137, 0
  br i1 %.3145, label %B4204.endif, label %B4204.else, !prof !74

B4306:                                            ; preds = %B4204.endif
  %.3209 = icmp eq i64 %.3189, %.3137
  %.3219 = and i64 %quot.0, 1
  %.3220 = icmp ne i64 %.3219, 0
  %or.cond1507 = and i1 %.3220, %.3209
  br i1 %or.cond1507, label %B4336, label %B4346

B4336:                                            ; preds = %B4204.endif, %B4306
  %.3227 = add nsw i64 %.3194, 1
  br label %B4346

B4346:                                            ; preds = %B4336, %B4306, %B4142
  %value.12.6 = phi i64 [ %.3122, %B4142 ], [ %.3227, %B4336 ], [ %.3194, %B4306 ]
  %.3253 = inttoptr i64 %.128.lcssa.sink.i375 to ptr
  %.3254 = load i8, ptr %.3253, align 1
  %.3255 = zext i8 %.3254 to i64
  br label %B4770

B4404:                                            ; preds = %B3908
  %104 = trunc i64 %.2896 to i8
  %.3329 = icmp eq i8 %104, 46
  br i1 %.3329, label %B4420, label %B4602

B4420:                                            ; preds = %B4404
  %.3345 = add nsw i64 %.128.lcssa.sink.i332, 1
  br label %B10.i378

B10.i378:                                         ; preds = %B210.i396, %B4420
  %i.2.0.i379 = phi i64 [ %.3345, %B4420 ], [ %.128.i415, %B210.i396 ]
  %value.2.0.i380 = phi i64 [ 0, %B4420 ], [ %.122.i414, %B210.i396 ]
  %.16.i381 = inttoptr i64 %i.2.0.i379 to ptr
  %.17.i382 = load i64, ptr %.16.i381, align 1, !noalias !75
  %.18.i383 = xor i64 %.17.i382, %const1334
  %.27.i384 = add i64 %.18.i383, %const1337
  %.29.i385 = or i64 %.27.i384, %.17.i382
  %.30.i386 = and i64 %.29.i385, %const1348
  %.38.not.i387 = icmp eq i64 %.30.i386, 0
  br i1 %.38.not.i387, label %B210.i396, label %B106.i388

B106.i388:                                        ; preds = %B10.i378
  %.45.i389 = tail call range(i64 7, 65) i64 @llvm.cttz.i64(i64 %.30.i386, i1 true)
  %.48.i390 = lshr i64 %.45.i389, 3
  %.53.i391 = icmp eq i64 %.48.i390, 0
  br i1 %.53.i391, label %B4420.endif, label %B162.i392

B162.i392:                                        ; preds = %B106.i388
  %.81.i393 = and i64 %.45.i389, 56
  %.84.i394 = sub nuw nsw i64 64, %.81.i393
  %.86.i395 = shl i64 %.18.i383, %.84.i394
  br label %B210.i396

B210.i396:                                        ; preds = %B162.i392, %B10.i378
  %word.3.1.i397 = phi i64 [ %.86.i395, %B162.i392 ], [ %.18.i383, %B10.i378 ]
  %k.2.1.i398 = phi i64 [ %.48.i390, %B162.i392 ], [ 8, %B10.i378 ]
  %.97.i399 = mul i64 %word.3.1.i397, 10
  %.99.i400 = lshr i64 %word.3.1.i397, 8
  %.103.i401 = add i64 %.97.i399, %.99.i400
  %.104.i402 = and i64 %.103.i401, %const1322
  %.105.i403 = mul i64 %.104.i402, %const1330
  %.106.i404 = lshr i64 %.103.i401, 16
  %.107.i405 = and i64 %.106.i404, %const1322
  %.108.i406 = mul i64 %.107.i405, %const1327
  %.110.i407 = shl nuw nsw i64 %k.2.1.i398, 3
  %.112.i408 = add nsw i64 %.110.i407, %.27
  %.113.i409 = inttoptr i64 %.112.i408 to ptr
  %.114.i410 = load i64, ptr %.113.i409, align 1, !noalias !75
  %.116.i411 = mul i64 %.114.i410, %value.2.0.i380
  %.119.i412 = add i64 %.108.i406, %.105.i403
  %.120.i413 = lshr i64 %.119.i412, 32
  %.122.i414 = add i64 %.120.i413, %.116.i411
  %.128.i415 = add nsw i64 %k.2.1.i398, %i.2.0.i379
  %.135.i416 = icmp samesign ult i64 %k.2.1.i398, 8
  br i1 %.135.i416, label %B4420.endif, label %B10.i378

B4514:                                            ; preds = %B4420.endif
  %.3453 = shl nsw i64 %.3390, 3
  %.3457 = add nsw i64 %.3453, %.27
  %.3458 = inttoptr i64 %.3457 to ptr
  %.3459 = load i64, ptr %.3458, align 1
  %.3461 = mul nsw i64 %.3459, %.122.lcssa.sink.i331
  %.3465 = add nsw i64 %.3461, %.122.lcssa.sink.i417
  %.3475 = inttoptr i64 %.128.lcssa.sink.i418 to ptr
  %.3476 = load i8, ptr %.3475, align 1
  %.3477 = zext i8 %.3476 to i64
  br label %B4602

B4602:                                            ; preds = %B4514, %B4404
  %c.9.6 = phi i64 [ %.3477, %B4514 ], [ %.2896, %B4404 ]
  %end.12.6 = phi i64 [ %.128.lcssa.sink.i418, %B4514 ], [ %.128.lcssa.sink.i332, %B4404 ]
  %value.9.6 = phi i64 [ %.3465, %B4514 ], [ %.122.lcssa.sink.i331, %B4404 ]
  %n_fraction.2.6 = phi i64 [ %.3390, %B4514 ], [ 0, %B4404 ]
  %.3488 = icmp sgt i64 %value.9.6, 9007199254740991
  br i1 %.3488, label %B5764.critedge, label %B4628

B4628:                                            ; preds = %B4602
  %105 = icmp eq i8 %.883, 45
  %.3533 = shl nsw i64 %n_fraction.2.6, 3
  %.3535 = add nsw i64 %.3533, %.27
  %.3536 = inttoptr i64 %.3535 to ptr
  %.3537 = load i64, ptr %.3536, align 1
  %.3539 = sitofp i64 %value.9.6 to double
  %.3540 = sitofp i64 %.3537 to double
  %.3544 = fdiv double %.3539, %.3540
  br i1 %105, label %B4692, label %B4724

B4692:                                            ; preds = %B4628
  %.3556 = icmp ne i64 %value.9.6, 0
  %.3561 = icmp sgt i64 %n_fraction.2.6, 0
  %or.cond1509 = or i1 %.3556, %.3561
  br i1 %or.cond1509, label %B4716, label %B4724

B4716:                                            ; preds = %B4692
  %.3568 = fneg double %.3544
  br label %B4724

B4724:                                            ; preds = %B4716, %B4692, %B4628
  %"$phi4724.2.2.6" = phi double [ %.3568, %B4716 ], [ %.3544, %B4628 ], [ %.3544, %B4692 ]
  %.3606 = bitcast double %"$phi4724.2.2.6" to i64
  br label %B4770

B4770:                                            ; preds = %B4724, %B4346, %B4002, %B3908
  %c.8.5 = phi i64 [ %.2896, %B3908 ], [ %c.9.6, %B4724 ], [ %.3255, %B4346 ], [ %.2896, %B4002 ]
  %fractions.5.5 = phi i1 [ %fractions.2.2.ph, %B3908 ], [ %fractions.2.2.ph, %B4724 ], [ %.3002, %B4346 ], [ %fractions.2.2.ph, %B4002 ]
  %end.11.5 = phi i64 [ %.128.lcssa.sink.i332, %B3908 ], [ %end.12.6, %B4724 ], [ %.128.lcssa.sink.i375, %B4346 ], [ %.128.lcssa.sink.i332, %B4002 ]
  %minus.3.5 = phi i1 [ %.2772, %B3908 ], [ false, %B4724 ], [ %.2772, %B4346 ], [ %.2772, %B4002 ]
  %value.10.5 = phi i64 [ %.122.lcssa.sink.i331, %B3908 ], [ %.3606, %B4724 ], [ %value.12.6, %B4346 ], [ %.2974, %B4002 ]
  switch i64 %c.8.5, label %B4808 [
    i64 46, label %B5764.critedge
    i64 101, label %B5764.critedge
    i64 69, label %B5764.critedge
  ]

B4808:                                            ; preds = %B4770
  %.3753 = or i64 %61, %has.8.2.ph
  %.3760 = shl nsw i64 %.921, 4
  %.3762 = add nsw i64 %.3760, %.35
  %.3774 = sub i64 0, %value.10.5
  %spec.select1510 = select i1 %minus.3.5, i64 %.3774, i64 %value.10.5
  %.3804 = inttoptr i64 %.3762 to ptr
  store i64 %spec.select1510, ptr %.3804, align 1
  %.3818 = add nsw i64 %.3762, 8
  %.3819 = inttoptr i64 %.3818 to ptr
  store i64 0, ptr %.3819, align 1
  br label %B4932

B4932:                                            ; preds = %B1784.endif, %B1560.endif, %B1490.endif, %B4808, %B3726, %B3238, %B2208, %B2106, %B1954, %B1770
  %seen.4.41463 = phi i64 [ %.980, %B4808 ], [ %seen.4.41464, %B1490.endif ], [ %.980, %B1770 ], [ %seen.4.41464, %B1560.endif ], [ %.980, %B1954 ], [ %.980, %B1784.endif ], [ %.980, %B2208 ], [ %.980, %B3238 ], [ %.980, %B3726 ], [ %.980, %B2106 ]
  %i.38.4 = phi i64 [ %end.11.5, %B4808 ], [ %.1033, %B1490.endif ], [ %.1313, %B1770 ], [ %.1112, %B1560.endif ], [ %.sink.i189, %B1954 ], [ %.sink.i, %B1784.endif ], [ %.1659, %B2208 ], [ %.2306, %B3238 ], [ %.2761, %B3726 ], [ %.sink.i189, %B2106 ]
  %has.10.4 = phi i64 [ %.3753, %B4808 ], [ %has.8.2.ph, %B1490.endif ], [ %has.8.2.ph, %B1770 ], [ %has.8.2.ph, %B1560.endif ], [ %.1519, %B1954 ], [ %has.8.2.ph, %B1784.endif ], [ %.1722, %B2208 ], [ %has.11.5, %B3238 ], [ %.2755, %B3726 ], [ %has.8.2.ph, %B2106 ]
  %odd.7.4 = phi i64 [ %odd.5.2.ph, %B4808 ], [ %odd.5.2.ph, %B1490.endif ], [ %odd.5.2.ph, %B1770 ], [ %odd.5.2.ph, %B1560.endif ], [ %odd.5.2.ph, %B1954 ], [ %odd.5.2.ph, %B1784.endif ], [ %odd.5.2.ph, %B2208 ], [ %odd.8.5, %B3238 ], [ %odd.5.2.ph, %B3726 ], [ %spec.select2927, %B2106 ]
  %fractions.4.4 = phi i1 [ %fractions.5.5, %B4808 ], [ %fractions.2.2.ph, %B1490.endif ], [ %fractions.2.2.ph, %B1770 ], [ %fractions.2.2.ph, %B1560.endif ], [ %fractions.2.2.ph, %B1954 ], [ %fractions.2.2.ph, %B1784.endif ], [ %fractions.2.2.ph, %B2208 ], [ %fractions.2.2.ph, %B3238 ], [ %fractions.2.2.ph, %B3726 ], [ %fractions.2.2.ph, %B2106 ]
  %.12.i121 = inttoptr i64 %i.38.4 to ptr
  %.13.i122 = load i8, ptr %.12.i121, align 1, !noalias !78
  %106 = zext i8 %.13.i122 to i32
  switch i32 %106, label %B4932.endif [
    i32 32, label %B82.i124.preheader
    i32 10, label %B82.i124.preheader
    i32 13, label %B82.i124.preheader
    i32 9, label %B82.i124.preheader
  ]

B82.i124.preheader:                               ; preds = %B4932, %B4932, %B4932, %B4932
  %107 = add i64 %i.38.4, 1
  br label %B82.i124

B82.i124:                                         ; preds = %B82.i124.backedge, %B82.i124.preheader
  %lsr.iv1309 = phi i64 [ %lsr.iv.next1310, %B82.i124.backedge ], [ %107, %B82.i124.preheader ]
  %.61.i126 = inttoptr i64 %lsr.iv1309 to ptr
  %.62.i127 = load i8, ptr %.61.i126, align 1, !noalias !78
  %108 = zext i8 %.62.i127 to i32
  switch i32 %108, label %B4932.endif.loopexit [
    i32 32, label %B82.i124.backedge
    i32 10, label %B82.i124.backedge
    i32 13, label %B82.i124.backedge
    i32 9, label %B82.i124.backedge
  ]

B82.i124.backedge:                                ; preds = %B82.i124, %B82.i124, %B82.i124, %B82.i124
  %lsr.iv.next1310 = add i64 %lsr.iv1309, 1
  br label %B82.i124

B5004:                                            ; preds = %B4932.endif
  %.3892 = icmp eq i64 %level.3.2, 1
  br i1 %.3892, label %B5016, label %B5218

B5016:                                            ; preds = %B5004
  %.3900 = add nsw i64 %i.3.1.i131, 1
  %.12.i133 = inttoptr i64 %.3900 to ptr
  %.13.i134 = load i8, ptr %.12.i133, align 1, !noalias !81
  %109 = zext i8 %.13.i134 to i32
  switch i32 %109, label %B5086 [
    i32 32, label %B82.preheader.i135
    i32 10, label %B82.preheader.i135
    i32 13, label %B82.preheader.i135
    i32 9, label %B82.preheader.i135
  ]

B82.preheader.i135:                               ; preds = %B5016, %B5016, %B5016, %B5016
  %110 = add i64 %i.3.1.i131, 2
  br label %B82.i136

B82.i136:                                         ; preds = %B82.backedge.i140, %B82.preheader.i135
  %lsr.iv.i137 = phi i64 [ %lsr.iv.next.i141, %B82.backedge.i140 ], [ %110, %B82.preheader.i135 ]
  %.61.i138 = inttoptr i64 %lsr.iv.i137 to ptr
  %.62.i139 = load i8, ptr %.61.i138, align 1, !noalias !81
  %111 = zext i8 %.62.i139 to i32
  switch i32 %111, label %B5086.loopexit [
    i32 32, label %B82.backedge.i140
    i32 10, label %B82.backedge.i140
    i32 13, label %B82.backedge.i140
    i32 9, label %B82.backedge.i140
  ]

B82.backedge.i140:                                ; preds = %B82.i136, %B82.i136, %B82.i136, %B82.i136
  %lsr.iv.next.i141 = add i64 %lsr.iv.i137, 1
  br label %B82.i136

B5086.loopexit:                                   ; preds = %B82.i136
  br label %B5086

B5086:                                            ; preds = %B4932.endif, %B5086.loopexit, %B5016
  %level.5.4 = phi i64 [ %level.3.2, %B4932.endif ], [ 0, %B5016 ], [ 0, %B5086.loopexit ]
  %i.39.4 = phi i64 [ %i.3.1.i131, %B4932.endif ], [ %.3900, %B5016 ], [ %lsr.iv.i137, %B5086.loopexit ]
  %c.11.4.in = phi i8 [ %.3868, %B4932.endif ], [ %.13.i134, %B5016 ], [ %.62.i139, %B5086.loopexit ]
  %112 = zext i8 %c.11.4.in to i32
  switch i32 %112, label %B5764.critedge [
    i32 125, label %B5218
    i32 44, label %B5142
  ]

B5142:                                            ; preds = %B5086
  %.4053 = add nsw i64 %i.39.4, 1
  %.12.i145 = inttoptr i64 %.4053 to ptr
  %.13.i146 = load i8, ptr %.12.i145, align 1, !noalias !84
  %113 = zext i8 %.13.i146 to i32
  switch i32 %113, label %B5142.endif [
    i32 32, label %B82.preheader.i147
    i32 10, label %B82.preheader.i147
    i32 13, label %B82.preheader.i147
    i32 9, label %B82.preheader.i147
  ]

B82.preheader.i147:                               ; preds = %B5142, %B5142, %B5142, %B5142
  %114 = add i64 %i.39.4, 2
  br label %B82.i148

B82.i148:                                         ; preds = %B82.backedge.i152, %B82.preheader.i147
  %lsr.iv.i149 = phi i64 [ %lsr.iv.next.i153, %B82.backedge.i152 ], [ %114, %B82.preheader.i147 ]
  %.61.i150 = inttoptr i64 %lsr.iv.i149 to ptr
  %.62.i151 = load i8, ptr %.61.i150, align 1, !noalias !84
  %115 = zext i8 %.62.i151 to i32
  switch i32 %115, label %B5142.endif.loopexit [
    i32 32, label %B82.backedge.i152
    i32 10, label %B82.backedge.i152
    i32 13, label %B82.backedge.i152
    i32 9, label %B82.backedge.i152
  ]

B82.backedge.i152:                                ; preds = %B82.i148, %B82.i148, %B82.i148, %B82.i148
  %lsr.iv.next.i153 = add i64 %lsr.iv.i149, 1
  br label %B82.i148

B5218:                                            ; preds = %B5086, %B5004
  %i.39.41474 = phi i64 [ %i.39.4, %B5086 ], [ %i.3.1.i131, %B5004 ]
  %.3966 = add nsw i64 %i.39.41474, 1
  %.3972 = and i64 %odd.7.4, 3
  %.3975 = icmp eq i64 %.3972, 0
  br i1 %.3975, label %B5222, label %B5764.critedge

B5222:                                            ; preds = %B5218
  %.4112 = sub nsw i64 %.3966, %i.31.0
  %.4113 = icmp sgt i64 %.4112, 1048576
  br i1 %.4113, label %B6076, label %B5276

B5276:                                            ; preds = %B5222
  %sunkaddr1390 = inttoptr i64 %arg.state to ptr
  %sunkaddr1391 = getelementptr i8, ptr %sunkaddr1390, i64 48
  %.14.i = load i64, ptr %sunkaddr1391, align 1, !noalias !87
  %.19.i = and i64 %has.10.4, 1
  %.20.i = icmp eq i64 %.19.i, 0
  br i1 %.20.i, label %B5320, label %B74.i

B74.i:                                            ; preds = %B5276
  %.23.i = add nsw i64 %.14.i, 8
  %.24.i466 = inttoptr i64 %.23.i to ptr
  %.25.i = load i64, ptr %.24.i466, align 1, !noalias !87
  %.26.not.i = icmp eq i64 %.25.i, 2
  br i1 %.26.not.i, label %B132.i, label %B5320

B132.i:                                           ; preds = %B74.i
  %.37.i = inttoptr i64 %.14.i to ptr
  %.38.i = load i64, ptr %.37.i, align 1, !noalias !87
  %.39.i = inttoptr i64 %.38.i to ptr
  %.40.i = load i8, ptr %.39.i, align 1, !noalias !87
  %116 = zext i8 %.40.i to i32
  switch i32 %116, label %B734.i [
    i32 88, label %B200.i
    i32 105, label %B482.i
    i32 67, label %B5320
    i32 77, label %B5890
    i32 115, label %B5890
    i32 116, label %B5890
    i32 102, label %B5890
  ]

B200.i:                                           ; preds = %B132.i
  %.51.i = and i64 %has.10.4, 2
  %.54.i = icmp eq i64 %.51.i, 0
  br i1 %.54.i, label %B5320, label %B232.i

B232.i:                                           ; preds = %B200.i
  %.64.i = add nsw i64 %.14.i, 16
  %.65.i = inttoptr i64 %.64.i to ptr
  %.66.i467 = load i64, ptr %.65.i, align 1, !noalias !87
  %.68.i = add nsw i64 %.14.i, 24
  %.71.i468 = inttoptr i64 %.68.i to ptr
  %.72.i469 = load i64, ptr %.71.i468, align 1, !noalias !87
  %.72.fr.i = freeze i64 %.72.i469
  %.73.i470 = add i64 %.72.fr.i, -1
  %.17.i.i = inttoptr i64 %.66.i467 to ptr
  %.18.i.i = load i64, ptr %.17.i.i, align 1, !noalias !90
  %.27.i.i = icmp slt i64 %.73.i470, 8
  %.30.i.i = shl i64 %.73.i470, 3
  %notmask.i.i = shl nsw i64 -1, %.30.i.i
  %.32.i.i = xor i64 %notmask.i.i, -1
  %const_mat1345 = add i64 %const1344, 1
  %.34.i.i = select i1 %.27.i.i, i64 %.32.i.i, i64 %const_mat1345
  %word.2.0.i.i = and i64 %.34.i.i, %.18.i.i
  %.47.i.i = add i64 %.72.fr.i, 127
  %.53.i.i = xor i64 %word.2.0.i.i, %.47.i.i
  %.56.i.i = mul i64 %.53.i.i, %const1333
  %.57.i.i = lshr i64 %.56.i.i, 55
  %j.2.057.i.i = and i64 %.57.i.i, 255
  %sunkaddr1392 = inttoptr i64 %arg.state to ptr
  %sunkaddr1393 = getelementptr i8, ptr %sunkaddr1392, i64 16
  %.6858.i.i = load i64, ptr %sunkaddr1393, align 1, !noalias !90
  %.7059.i.i = shl nuw nsw i64 %j.2.057.i.i, 3
  %.7160.i.i = add nsw i64 %.7059.i.i, %.6858.i.i
  %.7261.i.i = inttoptr i64 %.7160.i.i to ptr
  %.7362.i.i = load i64, ptr %.7261.i.i, align 1, !noalias !90
  %.7863.i.i = icmp slt i64 %.7362.i.i, 0
  br i1 %.7863.i.i, label %B5320, label %B284.lr.ph.i.i

B284.lr.ph.i.i:                                   ; preds = %B232.i
  %sunkaddr1394 = inttoptr i64 %arg.state to ptr
  %sunkaddr1395 = getelementptr i8, ptr %sunkaddr1394, i64 32
  %.99.i.i = load i64, ptr %sunkaddr1395, align 1, !noalias !90
  %.25.i.i.i = icmp sgt i64 %.73.i470, 8
  %117 = sub i64 64, %.30.i.i
  br i1 %.25.i.i.i, label %B284.us.preheader.i.i, label %B284.lr.ph.split.i.i

B284.us.preheader.i.i:                            ; preds = %B284.lr.ph.i.i
  %118 = add nuw i64 %.72.fr.i, 7
  br label %B284.us.i.i

B284.us.i.i:                                      ; preds = %B510.us.i.i, %B284.us.preheader.i.i
  %.7365.us.i.i = phi i64 [ %.73.us.i.i, %B510.us.i.i ], [ %.7362.i.i, %B284.us.preheader.i.i ]
  %j.2.064.us.i.i = phi i64 [ %j.2.0.us.i.i, %B510.us.i.i ], [ %j.2.057.i.i, %B284.us.preheader.i.i ]
  %.101.us.i.i = shl nsw i64 %.7365.us.i.i, 5
  %.102.us.i.i = add nsw i64 %.101.us.i.i, %.99.i.i
  %.107.us.i.i = inttoptr i64 %.102.us.i.i to ptr
  %.108.us.i.i = load i64, ptr %.107.us.i.i, align 1, !noalias !90
  %.110.us.i.i = icmp eq i64 %.108.us.i.i, %.47.i.i
  br i1 %.110.us.i.i, label %B386.us.i.i, label %B510.us.i.i

B386.us.i.i:                                      ; preds = %B284.us.i.i
  %119 = inttoptr i64 %.99.i.i to ptr
  %sunkaddr1396 = inttoptr i64 %arg.state to ptr
  %sunkaddr1397 = getelementptr i8, ptr %sunkaddr1396, i64 24
  %.117.us.i.i = load i64, ptr %sunkaddr1397, align 1, !noalias !90
  %sunkaddr61.i.i = getelementptr i8, ptr %119, i64 %.101.us.i.i
  %sunkaddr62.i.i = getelementptr i8, ptr %sunkaddr61.i.i, i64 8
  %.123.us.i.i = load i64, ptr %sunkaddr62.i.i, align 1, !noalias !90
  %.124.us.i.i = add nsw i64 %.123.us.i.i, %.117.us.i.i
  br label %B16.i.us.i.i

B16.i.us.i.i:                                     ; preds = %B84.i.us.i.i, %B386.us.i.i
  %lsr.iv57.i.i = phi i64 [ %117, %B386.us.i.i ], [ %lsr.iv.next58.i.i, %B84.i.us.i.i ]
  %lsr.iv.i.i = phi i64 [ %118, %B386.us.i.i ], [ %lsr.iv.next.i.i, %B84.i.us.i.i ]
  %i.2.0.i.us.i.i = phi i64 [ %.124.us.i.i, %B386.us.i.i ], [ %.54.i.us.i.i, %B84.i.us.i.i ]
  %j.2.0.i.us.i.i = phi i64 [ %.66.i467, %B386.us.i.i ], [ %.60.i.us.i.i, %B84.i.us.i.i ]
  %.37.i.us.i.i = inttoptr i64 %i.2.0.i.us.i.i to ptr
  %.38.i.us.i.i = load i64, ptr %.37.i.us.i.i, align 1, !noalias !93
  %.40.i.us.i.i = inttoptr i64 %j.2.0.i.us.i.i to ptr
  %.41.i.us.i.i = load i64, ptr %.40.i.us.i.i, align 1, !noalias !93
  %.42.not.i.us.i.i = icmp eq i64 %.38.i.us.i.i, %.41.i.us.i.i
  br i1 %.42.not.i.us.i.i, label %B84.i.us.i.i, label %B510.us.i.i

B84.i.us.i.i:                                     ; preds = %B16.i.us.i.i
  %.54.i.us.i.i = add i64 %i.2.0.i.us.i.i, 8
  %.60.i.us.i.i = add i64 %j.2.0.i.us.i.i, 8
  %lsr.iv.next.i.i = add i64 %lsr.iv.i.i, -8
  %lsr.iv.next58.i.i = add i64 %lsr.iv57.i.i, 64
  %.71.i.us.i.i = icmp sgt i64 %lsr.iv.next.i.i, 16
  br i1 %.71.i.us.i.i, label %B16.i.us.i.i, label %B126.i.loopexit.us.i.i

_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i.i: ; preds = %B126.i.loopexit.us.i.i
  %.91.i.us.i.i = inttoptr i64 %.54.i.us.i.i to ptr
  %.92.i.us.i.i = load i64, ptr %.91.i.us.i.i, align 1, !noalias !93
  %.96.i.us.i.i = inttoptr i64 %.60.i.us.i.i to ptr
  %.97.i.us.i.i = load i64, ptr %.96.i.us.i.i, align 1, !noalias !93
  %.100.i.us.i.i = xor i64 %.97.i.us.i.i, %.92.i.us.i.i
  %.106.i.us.i.i = shl i64 %.100.i.us.i.i, %lsr.iv.next58.i.i
  %.107.i.not.us.i.i = icmp eq i64 %.106.i.us.i.i, 0
  br i1 %.107.i.not.us.i.i, label %B5276.endif, label %B510.us.i.i

B510.us.i.i:                                      ; preds = %_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i.i, %B16.i.us.i.i, %B284.us.i.i
  %.183.us.i.i = add nuw nsw i64 %j.2.064.us.i.i, 1
  %j.2.0.us.i.i = and i64 %.183.us.i.i, 255
  %.70.us.i.i = shl nuw nsw i64 %j.2.0.us.i.i, 3
  %.71.us.i.i = add nsw i64 %.70.us.i.i, %.6858.i.i
  %.72.us.i.i = inttoptr i64 %.71.us.i.i to ptr
  %.73.us.i.i = load i64, ptr %.72.us.i.i, align 1, !noalias !90
  %.78.us.i.i = icmp slt i64 %.73.us.i.i, 0
  br i1 %.78.us.i.i, label %B5320, label %B284.us.i.i

B126.i.loopexit.us.i.i:                           ; preds = %B84.i.us.i.i
  %.85.i.us.i.i = icmp slt i64 %lsr.iv.next.i.i, 9
  br i1 %.85.i.us.i.i, label %B5276.endif, label %_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i.i

B284.lr.ph.split.i.i:                             ; preds = %B284.lr.ph.i.i
  %.85.i.i.i = icmp slt i64 %.73.i470, 1
  br i1 %.85.i.i.i, label %B284.us7.i.i.preheader, label %B284.i.i.preheader

B284.us7.i.i.preheader:                           ; preds = %B284.lr.ph.split.i.i
  br label %B284.us7.i.i

B284.i.i.preheader:                               ; preds = %B284.lr.ph.split.i.i
  br label %B284.i.i

B284.us7.i.i:                                     ; preds = %B510.us21.i.i, %B284.us7.i.i.preheader
  %.7365.us8.i.i = phi i64 [ %.73.us27.i.i, %B510.us21.i.i ], [ %.7362.i.i, %B284.us7.i.i.preheader ]
  %j.2.064.us9.i.i = phi i64 [ %j.2.0.us23.i.i, %B510.us21.i.i ], [ %j.2.057.i.i, %B284.us7.i.i.preheader ]
  %.101.us10.i.i = shl nsw i64 %.7365.us8.i.i, 5
  %.102.us11.i.i = add nsw i64 %.101.us10.i.i, %.99.i.i
  %.107.us12.i.i = inttoptr i64 %.102.us11.i.i to ptr
  %.108.us13.i.i = load i64, ptr %.107.us12.i.i, align 1, !noalias !90
  %.110.us14.i.i = icmp eq i64 %.108.us13.i.i, %.47.i.i
  br i1 %.110.us14.i.i, label %B5276.endif, label %B510.us21.i.i

B510.us21.i.i:                                    ; preds = %B284.us7.i.i
  %.183.us22.i.i = add nuw nsw i64 %j.2.064.us9.i.i, 1
  %j.2.0.us23.i.i = and i64 %.183.us22.i.i, 255
  %.70.us24.i.i = shl nuw nsw i64 %j.2.0.us23.i.i, 3
  %.71.us25.i.i = add nsw i64 %.70.us24.i.i, %.6858.i.i
  %.72.us26.i.i = inttoptr i64 %.71.us25.i.i to ptr
  %.73.us27.i.i = load i64, ptr %.72.us26.i.i, align 1, !noalias !90
  %.78.us28.i.i = icmp slt i64 %.73.us27.i.i, 0
  br i1 %.78.us28.i.i, label %B5320, label %B284.us7.i.i

B284.i.i:                                         ; preds = %B510.i.i, %B284.i.i.preheader
  %.7365.i.i = phi i64 [ %.73.i.i, %B510.i.i ], [ %.7362.i.i, %B284.i.i.preheader ]
  %j.2.064.i.i = phi i64 [ %j.2.0.i.i, %B510.i.i ], [ %j.2.057.i.i, %B284.i.i.preheader ]
  %.101.i.i = shl nsw i64 %.7365.i.i, 5
  %.102.i.i = add nsw i64 %.101.i.i, %.99.i.i
  %.107.i.i = inttoptr i64 %.102.i.i to ptr
  %.108.i.i = load i64, ptr %.107.i.i, align 1, !noalias !90
  %.110.i.i = icmp eq i64 %.108.i.i, %.47.i.i
  br i1 %.110.i.i, label %B386.i.i, label %B510.i.i

B386.i.i:                                         ; preds = %B284.i.i
  %120 = inttoptr i64 %.99.i.i to ptr
  %sunkaddr1398 = inttoptr i64 %arg.state to ptr
  %sunkaddr1399 = getelementptr i8, ptr %sunkaddr1398, i64 24
  %.117.i.i = load i64, ptr %sunkaddr1399, align 1, !noalias !90
  %sunkaddr66.i.i = getelementptr i8, ptr %120, i64 %.101.i.i
  %sunkaddr67.i.i = getelementptr i8, ptr %sunkaddr66.i.i, i64 8
  %.123.i.i = load i64, ptr %sunkaddr67.i.i, align 1, !noalias !90
  %.124.i.i = add nsw i64 %.123.i.i, %.117.i.i
  %.91.i.i.i = inttoptr i64 %.124.i.i to ptr
  %.92.i.i.i = load i64, ptr %.91.i.i.i, align 1, !noalias !93
  %.100.i.i.i = xor i64 %.92.i.i.i, %.18.i.i
  %.106.i.i.i = shl i64 %.100.i.i.i, %117
  %.107.i.not.i.i = icmp eq i64 %.106.i.i.i, 0
  br i1 %.107.i.not.i.i, label %B5276.endif, label %B510.i.i

B510.i.i:                                         ; preds = %B386.i.i, %B284.i.i
  %.183.i.i = add nuw nsw i64 %j.2.064.i.i, 1
  %j.2.0.i.i = and i64 %.183.i.i, 255
  %.70.i.i = shl nuw nsw i64 %j.2.0.i.i, 3
  %.71.i.i = add nsw i64 %.70.i.i, %.6858.i.i
  %.72.i.i = inttoptr i64 %.71.i.i to ptr
  %.73.i.i = load i64, ptr %.72.i.i, align 1, !noalias !90
  %.78.i.i = icmp slt i64 %.73.i.i, 0
  br i1 %.78.i.i, label %B5320, label %B284.i.i

B482.i:                                           ; preds = %B132.i
  %.146.i = and i64 %has.10.4, 4
  %.149.not.i = icmp eq i64 %.146.i, 0
  br i1 %.149.not.i, label %B642.i, label %B500.i

B500.i:                                           ; preds = %B482.i
  %.155.i = add nsw i64 %.14.i, 40
  %.156.i = inttoptr i64 %.155.i to ptr
  %.157.i = load i64, ptr %.156.i, align 1, !noalias !87
  %.158.i = icmp eq i64 %.157.i, 9
  br i1 %.158.i, label %B622.i, label %B642.i

B622.i:                                           ; preds = %B500.i
  %.163.i = add nsw i64 %.14.i, 32
  %.166.i = inttoptr i64 %.163.i to ptr
  %.167.i = load i64, ptr %.166.i, align 1, !noalias !87
  %.168.i = inttoptr i64 %.167.i to ptr
  %.169.i = load i64, ptr %.168.i, align 1, !noalias !87
  %.170.i = icmp eq i64 %.169.i, 6735540540611587419
  br i1 %.170.i, label %B5320, label %B642.i

B642.i:                                           ; preds = %B622.i, %B500.i, %B482.i
  br label %B5320

B734.i:                                           ; preds = %B132.i
  br label %B5320

B5320:                                            ; preds = %B5276.endif, %B734.i, %B642.i, %B622.i, %B510.i.i, %B510.us21.i.i, %B510.us.i.i, %B232.i, %B200.i, %B132.i, %B74.i, %B5276
  %"$phi746.0.2.0.sink.i771" = phi i64 [ %.121.i, %B5276.endif ], [ 8, %B510.us.i.i ], [ 8, %B734.i ], [ 8, %B642.i ], [ 8, %B510.us21.i.i ], [ 8, %B232.i ], [ 8, %B74.i ], [ 8, %B5276 ], [ 8, %B200.i ], [ 7, %B132.i ], [ 6, %B622.i ], [ 8, %B510.i.i ]
  %sunkaddr1400 = inttoptr i64 %arg.state to ptr
  %sunkaddr1401 = getelementptr i8, ptr %sunkaddr1400, i64 56
  %.4207 = load i64, ptr %sunkaddr1401, align 1
  %.4209 = mul nuw nsw i64 %"$phi746.0.2.0.sink.i771", 48
  %.4210 = add nsw i64 %.4207, %.4209
  %.4215 = add nsw i64 %.4210, 16
  %.4216 = inttoptr i64 %.4215 to ptr
  %.4217 = load i64, ptr %.4216, align 1
  %.4219 = and i64 %.4217, %has.10.4
  %.4220.not = icmp eq i64 %.4219, %.4217
  br i1 %.4220.not, label %B5438, label %B5764.critedge

B5438:                                            ; preds = %B5320
  %sunkaddr1402 = inttoptr i64 %.4207 to ptr
  %sunkaddr1403 = getelementptr i8, ptr %sunkaddr1402, i64 %.4209
  %sunkaddr1404 = getelementptr i8, ptr %sunkaddr1403, i64 32
  %.4225 = load i64, ptr %sunkaddr1404, align 1
  %.4227 = and i64 %.4225, %odd.7.4
  %.4230.not = icmp eq i64 %.4227, 0
  br i1 %.4230.not, label %B5494, label %B5764.critedge

B5494:                                            ; preds = %B5438
  %sunkaddr1405 = inttoptr i64 %.4207 to ptr
  %sunkaddr1406 = getelementptr i8, ptr %sunkaddr1405, i64 %.4209
  %sunkaddr1407 = getelementptr i8, ptr %sunkaddr1406, i64 24
  %.4255 = load i64, ptr %sunkaddr1407, align 1
  %sunkaddr1408 = inttoptr i64 %arg.state to ptr
  %sunkaddr1409 = getelementptr i8, ptr %sunkaddr1408, i64 104
  %.4260 = load i64, ptr %sunkaddr1409, align 1
  %.4261.not = icmp slt i64 %.4255, %.4260
  br i1 %.4261.not, label %B5602, label %B6076

B5602:                                            ; preds = %B5494
  %sunkaddr1410 = inttoptr i64 %arg.state to ptr
  %sunkaddr1411 = getelementptr i8, ptr %sunkaddr1410, i64 72
  %.25.i478 = load i64, ptr %sunkaddr1411, align 1, !noalias !96
  %sunkaddr1412 = inttoptr i64 %.4207 to ptr
  %sunkaddr1413 = getelementptr i8, ptr %sunkaddr1412, i64 %.4209
  %.38.i482 = load i64, ptr %sunkaddr1413, align 1, !noalias !96
  %sunkaddr1414 = inttoptr i64 %.4207 to ptr
  %sunkaddr1415 = getelementptr i8, ptr %sunkaddr1414, i64 %.4209
  %sunkaddr1416 = getelementptr i8, ptr %sunkaddr1415, i64 8
  %.42.i = load i64, ptr %sunkaddr1416, align 1, !noalias !96
  %.79.i = sub i64 %.42.i, %.38.i482
  %.125231.not.i = icmp slt i64 %.79.i, 1
  br i1 %.125231.not.i, label %B5652, label %B238.i.preheader

B238.i.preheader:                                 ; preds = %B5602
  %const1341 = bitcast i64 9221220287245058049 to i64
  %const1340 = bitcast i64 9174307257865047245 to i64
  br label %B238.i

B238.i:                                           ; preds = %B1056.i, %B238.i.preheader
  %.124223233.i = phi i64 [ %.134.i, %B1056.i ], [ %.79.i, %B238.i.preheader ]
  %.131227232.i = phi i64 [ %.138.i, %B1056.i ], [ %.38.i482, %B238.i.preheader ]
  %.134.i = add nsw i64 %.124223233.i, -1
  %.138.i = add i64 %.131227232.i, 1
  %sunkaddr1417 = inttoptr i64 %arg.state to ptr
  %sunkaddr1418 = getelementptr i8, ptr %sunkaddr1417, i64 64
  %.167.i485 = load i64, ptr %sunkaddr1418, align 1, !noalias !96
  %.168.i486 = shl nsw i64 %.131227232.i, 5
  %.169.i487 = add nsw i64 %.167.i485, %.168.i486
  %.174.i = inttoptr i64 %.169.i487 to ptr
  %.175.i = load i64, ptr %.174.i, align 1, !noalias !96
  %.177.i = add nsw i64 %.169.i487, 8
  %.178.i = inttoptr i64 %.177.i to ptr
  %.179.i = load i64, ptr %.178.i, align 1, !noalias !96
  %.181.i = add nsw i64 %.169.i487, 16
  %.182.i = inttoptr i64 %.181.i to ptr
  %.183.i488 = load i64, ptr %.182.i, align 1, !noalias !96
  %.199218.i = lshr i64 %has.10.4, %.179.i
  %.200.i = and i64 %.199218.i, 1
  %.212.i = icmp eq i64 %.175.i, 4
  br i1 %.212.i, label %B458.i, label %B532.i

B458.i:                                           ; preds = %B238.i
  %121 = shl nuw i64 1, %.183.i488
  %122 = and i64 %121, %has.10.4
  %.226.not.i = icmp eq i64 %122, 0
  br i1 %.226.not.i, label %B676.thread202.i, label %B474.i

B474.i:                                           ; preds = %B458.i
  %.234.i = shl nsw i64 %.183.i488, 4
  %.238.i = add nsw i64 %.234.i, %.14.i
  %.239.i = inttoptr i64 %.238.i to ptr
  %.240.i = load i64, ptr %.239.i, align 1, !noalias !96
  %.241.i = icmp ne i64 %.240.i, 0
  %.333206.i = icmp ne i64 %.200.i, 0
  %or.cond.i = select i1 %.241.i, i1 %.333206.i, i1 false
  br i1 %or.cond.i, label %B680.i, label %B1056.i

B532.i:                                           ; preds = %B238.i
  %.271.i = icmp sgt i64 %.183.i488, -1
  br i1 %.271.i, label %B544.i, label %B676.i

B544.i:                                           ; preds = %B532.i
  %.278.i = icmp eq i64 %.200.i, 0
  br i1 %.278.i, label %B656.i, label %B556.i

B556.i:                                           ; preds = %B544.i
  %.175.off.i = add i64 %.175.i, -1
  %switch.i = icmp ult i64 %.175.off.i, 2
  br i1 %switch.i, label %B600.i, label %B680.i

B600.i:                                           ; preds = %B556.i
  %123 = inttoptr i64 %.14.i to ptr
  %.301.i = shl nsw i64 %.179.i, 4
  %sunkaddr145.i = getelementptr i8, ptr %123, i64 %.301.i
  %sunkaddr146.i = getelementptr i8, ptr %sunkaddr145.i, i64 8
  %.308.i = load i64, ptr %sunkaddr146.i, align 1, !noalias !96
  %.309.i = icmp eq i64 %.308.i, 1
  br i1 %.309.i, label %B656.i, label %B680.i

B656.i:                                           ; preds = %B600.i, %B544.i
  %.321219.i = lshr i64 %has.10.4, %.183.i488
  %.322.i = and i64 %.321219.i, 1
  br label %B676.i

B676.i:                                           ; preds = %B656.i, %B532.i
  %a.2.1.i = phi i64 [ %.183.i488, %B656.i ], [ %.179.i, %B532.i ]
  %present.5.1.i = phi i64 [ %.322.i, %B656.i ], [ %.200.i, %B532.i ]
  %.333.not.i = icmp eq i64 %present.5.1.i, 0
  br i1 %.333.not.i, label %B982.i, label %B680.i

B676.thread202.i:                                 ; preds = %B458.i
  %.333206.old.not.i = icmp eq i64 %.200.i, 0
  br i1 %.333206.old.not.i, label %B1056.i, label %B680.i

B680.i:                                           ; preds = %B676.thread202.i, %B676.i, %B600.i, %B556.i, %B474.i
  %a.2.1201.i = phi i64 [ %.179.i, %B676.thread202.i ], [ %a.2.1.i, %B676.i ], [ %.179.i, %B600.i ], [ %.179.i, %B556.i ], [ %.179.i, %B474.i ]
  %.340.i = shl nsw i64 %a.2.1201.i, 4
  %.342.i = add nsw i64 %.340.i, %.14.i
  %.343.i = inttoptr i64 %.342.i to ptr
  %.344.i = load i64, ptr %.343.i, align 1, !noalias !96
  %.358.i = add nsw i64 %.342.i, 8
  %.359.i = inttoptr i64 %.358.i to ptr
  %.360.i = load i64, ptr %.359.i, align 1, !noalias !96
  %.360.fr.i = freeze i64 %.360.i
  %.366.i = icmp sgt i64 %.360.fr.i, 0
  br i1 %.366.i, label %B788.i, label %B1056.i

B788.i:                                           ; preds = %B680.i
  %.361.i = add nsw i64 %.360.fr.i, -1
  %.371.i = icmp eq i64 %.175.i, 3
  %.376.i = select i1 %.371.i, i64 128, i64 0
  %.378.i = add nsw i64 %.376.i, %.25.i478
  %.16.i.i = inttoptr i64 %.378.i to ptr
  %.17.i.i490 = load i64, ptr %.16.i.i, align 1, !noalias !99
  %.20.i.i = add nsw i64 %.378.i, 8
  %.21.i.i = inttoptr i64 %.20.i.i to ptr
  %.22.i.i = load i64, ptr %.21.i.i, align 1, !noalias !99
  %.31.i.i = add nsw i64 %.378.i, 56
  %.32.i.i491 = inttoptr i64 %.31.i.i to ptr
  %.33.i.i = load i64, ptr %.32.i.i491, align 1, !noalias !99
  %.40.i.i = add nsw i64 %.378.i, 80
  %.41.i.i = inttoptr i64 %.40.i.i to ptr
  %.42.i.i = load i64, ptr %.41.i.i, align 1, !noalias !99
  %.19.i.i.i = xor i64 %.42.i.i, %.361.i
  %.26.i.i.i = icmp samesign ugt i64 %.360.fr.i, 9
  br i1 %.26.i.i.i, label %B26.preheader.i.i.i, label %B154.i.i.i

B26.preheader.i.i.i:                              ; preds = %B788.i
  %124 = add nuw i64 %.360.fr.i, 6
  %125 = and i64 %124, 8
  %lcmp.mod.not.not.i.i.i = icmp eq i64 %125, 0
  br i1 %lcmp.mod.not.not.i.i.i, label %B26.prol.loopexit.i.i.i, label %B26.i.i.i.preheader

B26.prol.loopexit.i.i.i:                          ; preds = %B26.preheader.i.i.i
  %.29.prol.i.i.i = inttoptr i64 %.344.i to ptr
  %.30.prol.i.i.i = load i64, ptr %.29.prol.i.i.i, align 1, !noalias !102
  %.32.prol.i.i.i = xor i64 %.30.prol.i.i.i, %.19.i.i.i
  %.33.prol.i.i.i = mul i64 %.32.prol.i.i.i, %const1340
  %.34.prol.i.i.i = lshr i64 %.33.prol.i.i.i, 32
  %.36.prol.i.i.i = xor i64 %.34.prol.i.i.i, %.33.prol.i.i.i
  %.42.prol.i.i.i = add nsw i64 %.344.i, 8
  %.48.prol.i.i.i = add nsw i64 %.360.fr.i, -9
  %126 = icmp samesign ult i64 %.360.fr.i, 18
  br i1 %126, label %B166.i.i.i, label %B26.i.i.i.preheader

B26.i.i.i.preheader:                              ; preds = %B26.prol.loopexit.i.i.i, %B26.preheader.i.i.i
  %i.2.0.i.i.i.ph = phi i64 [ %.344.i, %B26.preheader.i.i.i ], [ %.42.prol.i.i.i, %B26.prol.loopexit.i.i.i ]
  %length.2.0.i.i.i.ph = phi i64 [ %.361.i, %B26.preheader.i.i.i ], [ %.48.prol.i.i.i, %B26.prol.loopexit.i.i.i ]
  %h.5.0.i.i.i.ph = phi i64 [ %.19.i.i.i, %B26.preheader.i.i.i ], [ %.36.prol.i.i.i, %B26.prol.loopexit.i.i.i ]
  br label %B26.i.i.i

B26.i.i.i:                                        ; preds = %B26.i.i.i, %B26.i.i.i.preheader
  %i.2.0.i.i.i = phi i64 [ %131, %B26.i.i.i ], [ %i.2.0.i.i.i.ph, %B26.i.i.i.preheader ]
  %length.2.0.i.i.i = phi i64 [ %.48.1.i.i.i, %B26.i.i.i ], [ %length.2.0.i.i.i.ph, %B26.i.i.i.preheader ]
  %h.5.0.i.i.i = phi i64 [ %.36.1.i.i.i, %B26.i.i.i ], [ %h.5.0.i.i.i.ph, %B26.i.i.i.preheader ]
  %.29.i.i.i = inttoptr i64 %i.2.0.i.i.i to ptr
  %.30.i.i.i = load i64, ptr %.29.i.i.i, align 1, !noalias !102
  %.32.i.i.i = xor i64 %.30.i.i.i, %h.5.0.i.i.i
  %.33.i.i.i = mul i64 %.32.i.i.i, %const1340
  %.34.i.i.i = lshr i64 %.33.i.i.i, 32
  %127 = add i64 %i.2.0.i.i.i, 8
  %.29.1.i.i.i = inttoptr i64 %127 to ptr
  %.30.1.i.i.i = load i64, ptr %.29.1.i.i.i, align 1, !noalias !102
  %128 = xor i64 %.30.1.i.i.i, %.34.i.i.i
  %.32.1.i.i.i = xor i64 %128, %.33.i.i.i
  %.33.1.i.i.i = mul i64 %.32.1.i.i.i, %const1340
  %.34.1.i.i.i = lshr i64 %.33.1.i.i.i, 32
  %.36.1.i.i.i = xor i64 %.34.1.i.i.i, %.33.1.i.i.i
  %.48.1.i.i.i = add i64 %length.2.0.i.i.i, -16
  %129 = add i64 %i.2.0.i.i.i, 16
  %130 = add i64 %.48.1.i.i.i, 16
  %.53.1.i.i.i = icmp samesign ugt i64 %130, 24
  %131 = add i64 %127, 8
  br i1 %.53.1.i.i.i, label %B26.i.i.i, label %B166.i.i.i

B154.i.i.i:                                       ; preds = %B788.i
  %.66.i.i.not.i = icmp eq i64 %.360.fr.i, 1
  br i1 %.66.i.i.not.i, label %B0.endif.i.i, label %B166.i.i.i

B166.i.i.i:                                       ; preds = %B154.i.i.i, %B26.i.i.i, %B26.prol.loopexit.i.i.i
  %h.6.134.i.i.i = phi i64 [ %.19.i.i.i, %B154.i.i.i ], [ %.36.prol.i.i.i, %B26.prol.loopexit.i.i.i ], [ %.36.1.i.i.i, %B26.i.i.i ]
  %length.3.133.i.i.i = phi i64 [ %.361.i, %B154.i.i.i ], [ %.48.prol.i.i.i, %B26.prol.loopexit.i.i.i ], [ %.48.1.i.i.i, %B26.i.i.i ]
  %i.3.132.i.i.i = phi i64 [ %.344.i, %B154.i.i.i ], [ %.42.prol.i.i.i, %B26.prol.loopexit.i.i.i ], [ %129, %B26.i.i.i ]
  %.69.i.i.i = inttoptr i64 %i.3.132.i.i.i to ptr
  %.70.i.i.i = load i64, ptr %.69.i.i.i, align 1, !noalias !102
  %.74.i.i.i = shl nuw nsw i64 %length.3.133.i.i.i, 3
  %.77.i.i.i = sub nuw nsw i64 64, %.74.i.i.i
  %.78.i.i.i = shl i64 %.70.i.i.i, %.77.i.i.i
  %.80.i.i.i = xor i64 %.78.i.i.i, %h.6.134.i.i.i
  br label %B0.endif.i.i

B310.i.i:                                         ; preds = %B310.i.i.preheader, %B636.i.i
  %.86152.i.i = phi i64 [ %.86.i.i, %B636.i.i ], [ %.86149.i.i, %B310.i.i.preheader ]
  %j.2.0151.i.i = phi i64 [ %j.2.0.i.i497, %B636.i.i ], [ %j.2.0145.i.i, %B310.i.i.preheader ]
  %.104.i.i = shl nsw i64 %.86152.i.i, 3
  %.105.i.i494 = add nsw i64 %.104.i.i, %.102.i.i492
  %.106.i.i495 = inttoptr i64 %.105.i.i494 to ptr
  %.107.i.i496 = load i64, ptr %.106.i.i495, align 1, !noalias !99
  %.109.i.i = icmp eq i64 %.107.i.i496, %.98.i.i.i
  br i1 %.109.i.i, label %B408.i.i, label %B636.i.i

B408.i.i:                                         ; preds = %B310.i.i
  %sunkaddr1419 = inttoptr i64 %.376.i to ptr
  %sunkaddr1420 = getelementptr i8, ptr %sunkaddr1419, i64 %.25.i478
  %sunkaddr1421 = getelementptr i8, ptr %sunkaddr1420, i64 32
  %.115.i.i = load i64, ptr %sunkaddr1421, align 1, !noalias !99
  %sunkaddr1422 = inttoptr i64 %.115.i.i to ptr
  %sunkaddr1423 = mul i64 %.86152.i.i, 8
  %sunkaddr1424 = getelementptr i8, ptr %sunkaddr1422, i64 %sunkaddr1423
  %.120.i.i = load i64, ptr %sunkaddr1424, align 1, !noalias !99
  %.122.i.i = icmp eq i64 %.120.i.i, %.361.i
  br i1 %.122.i.i, label %B506.i.i, label %B636.i.i

B506.i.i:                                         ; preds = %B408.i.i
  %sunkaddr1425 = inttoptr i64 %.376.i to ptr
  %sunkaddr1426 = getelementptr i8, ptr %sunkaddr1425, i64 %.25.i478
  %sunkaddr1427 = getelementptr i8, ptr %sunkaddr1426, i64 24
  %.129.i.i = load i64, ptr %sunkaddr1427, align 1, !noalias !99
  %sunkaddr1428 = inttoptr i64 %.129.i.i to ptr
  %sunkaddr1429 = mul i64 %.86152.i.i, 8
  %sunkaddr1430 = getelementptr i8, ptr %sunkaddr1428, i64 %sunkaddr1429
  %.134.i.i = load i64, ptr %sunkaddr1430, align 1, !noalias !99
  %.136.i.i = add nsw i64 %.134.i.i, %.33.i.i
  %.91.i.i.i505 = inttoptr i64 %.136.i.i to ptr
  %.92.i.i.i506 = load i64, ptr %.91.i.i.i505, align 1, !noalias !105
  %sunkaddr1431 = inttoptr i64 %.344.i to ptr
  %.97.i.i.i = load i64, ptr %sunkaddr1431, align 1, !noalias !105
  %.100.i.i.i507 = xor i64 %.97.i.i.i, %.92.i.i.i506
  %.106.i.i.i508 = shl i64 %.100.i.i.i507, %151
  %.107.i.not.i.i509 = icmp eq i64 %.106.i.i.i508, 0
  br i1 %.107.i.not.i.i509, label %B890.i, label %B636.i.i

B636.i.i:                                         ; preds = %B506.i.i, %B408.i.i, %B310.i.i
  %.197.i.i = add nsw i64 %j.2.0151.i.i, 1
  %j.2.0.i.i497 = and i64 %.197.i.i, %.22.i.i
  %.82.i.i = shl nsw i64 %j.2.0.i.i497, 3
  %.84.i.i = add nsw i64 %.82.i.i, %.17.i.i490
  %.85.i.i498 = inttoptr i64 %.84.i.i to ptr
  %.86.i.i = load i64, ptr %.85.i.i498, align 1, !noalias !99
  %.91.i.i499 = icmp slt i64 %.86.i.i, 0
  br i1 %.91.i.i499, label %B654.i.i, label %B310.i.i

B654.i.i:                                         ; preds = %B636.us43.i.i, %B636.us.i.i, %B0.endif.i.i, %B636.i.i
  %.85.lcssa.i.i = phi ptr [ %.85.us.i.i, %B636.us.i.i ], [ %.85.us48.i.i, %B636.us43.i.i ], [ %.85148.i.i, %B0.endif.i.i ], [ %.85.i.i498, %B636.i.i ]
  %sunkaddr1432 = inttoptr i64 %.376.i to ptr
  %sunkaddr1433 = getelementptr i8, ptr %sunkaddr1432, i64 %.25.i478
  %sunkaddr1434 = getelementptr i8, ptr %sunkaddr1433, i64 40
  %.207.i.i = load i64, ptr %sunkaddr1434, align 1, !noalias !99
  %sunkaddr1435 = inttoptr i64 %.376.i to ptr
  %sunkaddr1436 = getelementptr i8, ptr %sunkaddr1435, i64 %.25.i478
  %sunkaddr1437 = getelementptr i8, ptr %sunkaddr1436, i64 64
  %.215.i.i = load i64, ptr %sunkaddr1437, align 1, !noalias !99
  %sunkaddr1438 = inttoptr i64 %.376.i to ptr
  %sunkaddr1439 = getelementptr i8, ptr %sunkaddr1438, i64 %.25.i478
  %sunkaddr1440 = getelementptr i8, ptr %sunkaddr1439, i64 48
  %.223.i.i = load i64, ptr %sunkaddr1440, align 1, !noalias !99
  %.225.not.i.i = icmp slt i64 %.207.i.i, %.223.i.i
  br i1 %.225.not.i.i, label %B818.i.i, label %B788.endif.thread86.i

B818.i.i:                                         ; preds = %B654.i.i
  %.229.i.i = add nsw i64 %.215.i.i, %.361.i
  %sunkaddr1441 = inttoptr i64 %.376.i to ptr
  %sunkaddr1442 = getelementptr i8, ptr %sunkaddr1441, i64 %.25.i478
  %sunkaddr1443 = getelementptr i8, ptr %sunkaddr1442, i64 72
  %.234.i.i = load i64, ptr %sunkaddr1443, align 1, !noalias !99
  %.235.i.i = icmp sgt i64 %.229.i.i, %.234.i.i
  br i1 %.235.i.i, label %B788.endif.thread86.i, label %B942.endif.i.i

B788.endif.thread86.i:                            ; preds = %B818.i.i, %B654.i.i
  %sunkaddr1444 = inttoptr i64 %.376.i to ptr
  %sunkaddr1445 = getelementptr i8, ptr %sunkaddr1444, i64 %.25.i478
  %sunkaddr1446 = getelementptr i8, ptr %sunkaddr1445, i64 96
  store i64 %.361.i, ptr %sunkaddr1446, align 1, !noalias !99
  br label %B6076

B1298.i.i:                                        ; preds = %B1298.lr.ph.new.i.i, %B1298.i.i
  %lsr.iv1311 = phi i64 [ %156, %B1298.lr.ph.new.i.i ], [ %lsr.iv.next1312, %B1298.i.i ]
  %.395154156.i.i = phi i64 [ 0, %B1298.lr.ph.new.i.i ], [ %.402.3.i.i, %B1298.i.i ]
  %132 = add i64 %.429.i.i, %.395154156.i.i
  %133 = add i64 %.344.i, %.395154156.i.i
  %.433.i.i = inttoptr i64 %133 to ptr
  %.434.i.i = load i64, ptr %.433.i.i, align 1, !noalias !99
  %.435.i.i = inttoptr i64 %132 to ptr
  store i64 %.434.i.i, ptr %.435.i.i, align 1, !noalias !99
  %134 = add i64 %.429.i.i, %.395154156.i.i
  %135 = add i64 %134, 8
  %136 = add i64 %.344.i, %.395154156.i.i
  %137 = add i64 %136, 8
  %.433.1.i.i = inttoptr i64 %137 to ptr
  %.434.1.i.i = load i64, ptr %.433.1.i.i, align 1, !noalias !99
  %.435.1.i.i = inttoptr i64 %135 to ptr
  store i64 %.434.1.i.i, ptr %.435.1.i.i, align 1, !noalias !99
  %138 = add i64 %.429.i.i, %.395154156.i.i
  %139 = add i64 %138, 16
  %140 = add i64 %.344.i, %.395154156.i.i
  %141 = add i64 %140, 16
  %.433.2.i.i = inttoptr i64 %141 to ptr
  %.434.2.i.i = load i64, ptr %.433.2.i.i, align 1, !noalias !99
  %.435.2.i.i = inttoptr i64 %139 to ptr
  store i64 %.434.2.i.i, ptr %.435.2.i.i, align 1, !noalias !99
  %.402.3.i.i = add i64 %.395154156.i.i, 32
  %142 = add i64 %.429.i.i, %.395154156.i.i
  %143 = add i64 %142, 24
  %144 = add i64 %.344.i, %.395154156.i.i
  %145 = add i64 %144, 24
  %.433.3.i.i = inttoptr i64 %145 to ptr
  %.434.3.i.i = load i64, ptr %.433.3.i.i, align 1, !noalias !99
  %.435.3.i.i = inttoptr i64 %143 to ptr
  store i64 %.434.3.i.i, ptr %.435.3.i.i, align 1, !noalias !99
  %lsr.iv.next1312 = add i64 %lsr.iv1311, -4
  %niter.ncmp.3.not.i.i = icmp eq i64 %lsr.iv.next1312, 0
  br i1 %niter.ncmp.3.not.i.i, label %B1378.loopexit.unr-lcssa.i.i, label %B1298.i.i

B1378.loopexit.unr-lcssa.i.i:                     ; preds = %B1298.i.i
  %lcmp.mod.not.i.i = icmp eq i64 %xtraiter.i.i, 0
  br i1 %lcmp.mod.not.i.i, label %B1378.i.i, label %B1298.epil.preheader.i.i

B1298.epil.preheader.i.i:                         ; preds = %B1298.lr.ph.i.i, %B1378.loopexit.unr-lcssa.i.i
  %.395154156.epil.init.i.i = phi i64 [ 0, %B1298.lr.ph.i.i ], [ %.402.3.i.i, %B1378.loopexit.unr-lcssa.i.i ]
  %146 = add nsw i64 %.395154156.epil.init.i.i, %.344.i
  %147 = add i64 %.395154156.epil.init.i.i, %.429.i.i
  br label %B1298.epil.i.i

B1298.epil.i.i:                                   ; preds = %B1298.epil.i.i, %B1298.epil.preheader.i.i
  %lsr.iv103.i.i = phi i64 [ %lsr.iv.next104.i.i, %B1298.epil.i.i ], [ %xtraiter.i.i, %B1298.epil.preheader.i.i ]
  %lsr.iv101.i.i = phi i64 [ %lsr.iv.next102.i.i, %B1298.epil.i.i ], [ %147, %B1298.epil.preheader.i.i ]
  %lsr.iv.i.i502 = phi i64 [ %lsr.iv.next.i.i503, %B1298.epil.i.i ], [ %146, %B1298.epil.preheader.i.i ]
  %.433.epil.i.i = inttoptr i64 %lsr.iv.i.i502 to ptr
  %.434.epil.i.i = load i64, ptr %.433.epil.i.i, align 1, !noalias !99
  %.435.epil.i.i = inttoptr i64 %lsr.iv101.i.i to ptr
  store i64 %.434.epil.i.i, ptr %.435.epil.i.i, align 1, !noalias !99
  %lsr.iv.next.i.i503 = add i64 %lsr.iv.i.i502, 8
  %lsr.iv.next102.i.i = add i64 %lsr.iv101.i.i, 8
  %lsr.iv.next104.i.i = add nsw i64 %lsr.iv103.i.i, -1
  %epil.iter.cmp.not.i.i = icmp eq i64 %lsr.iv.next104.i.i, 0
  br i1 %epil.iter.cmp.not.i.i, label %B1378.i.i, label %B1298.epil.i.i, !llvm.loop !108

B1378.i.i:                                        ; preds = %B942.endif.i.i, %B1298.epil.i.i, %B1378.loopexit.unr-lcssa.i.i
  %.450.i.i = add nsw i64 %.207.i.i, 1
  %sunkaddr1447 = inttoptr i64 %.376.i to ptr
  %sunkaddr1448 = getelementptr i8, ptr %sunkaddr1447, i64 %.25.i478
  %sunkaddr1449 = getelementptr i8, ptr %sunkaddr1448, i64 40
  store i64 %.450.i.i, ptr %sunkaddr1449, align 1, !noalias !99
  %sunkaddr1450 = inttoptr i64 %.376.i to ptr
  %sunkaddr1451 = getelementptr i8, ptr %sunkaddr1450, i64 %.25.i478
  %sunkaddr1452 = getelementptr i8, ptr %sunkaddr1451, i64 64
  store i64 %.229.i.i, ptr %sunkaddr1452, align 1, !noalias !99
  br label %B788.endif.i

B0.endif.i.i:                                     ; preds = %B166.i.i.i, %B154.i.i.i
  %h.7.0.i.i.i = phi i64 [ %.80.i.i.i, %B166.i.i.i ], [ %.19.i.i.i, %B154.i.i.i ]
  %.93.i.i.i = mul i64 %h.7.0.i.i.i, %const1340
  %.96.i.i.i = lshr i64 %.93.i.i.i, 29
  %.98.i.i.i = xor i64 %.96.i.i.i, %.93.i.i.i
  %j.2.0145.i.i = and i64 %.98.i.i.i, %.22.i.i
  %.82146.i.i = shl nsw i64 %j.2.0145.i.i, 3
  %.84147.i.i = add nsw i64 %.82146.i.i, %.17.i.i490
  %.85148.i.i = inttoptr i64 %.84147.i.i to ptr
  %.86149.i.i = load i64, ptr %.85148.i.i, align 1, !noalias !99
  %.91150.i.i = icmp slt i64 %.86149.i.i, 0
  br i1 %.91150.i.i, label %B654.i.i, label %B310.lr.ph.i.i

B310.lr.ph.i.i:                                   ; preds = %B0.endif.i.i
  %148 = inttoptr i64 %.376.i to ptr
  %149 = icmp ugt i64 %.360.fr.i, 9
  %sunkaddr182.i = getelementptr i8, ptr %148, i64 %.25.i478
  %sunkaddr183.i = getelementptr i8, ptr %sunkaddr182.i, i64 16
  %.102.i.i492 = load i64, ptr %sunkaddr183.i, align 1, !noalias !99
  %150 = shl i64 %.361.i, 3
  %151 = sub i64 64, %150
  br i1 %149, label %B310.us.preheader.i.i, label %B310.lr.ph.split.i.i

B310.us.preheader.i.i:                            ; preds = %B310.lr.ph.i.i
  %152 = add nuw i64 %.360.fr.i, 7
  br label %B310.us.i.i

B310.us.i.i:                                      ; preds = %B636.us.i.i, %B310.us.preheader.i.i
  %.86152.us.i.i = phi i64 [ %.86.us.i.i, %B636.us.i.i ], [ %.86149.i.i, %B310.us.preheader.i.i ]
  %j.2.0151.us.i.i = phi i64 [ %j.2.0.us.i.i511, %B636.us.i.i ], [ %j.2.0145.i.i, %B310.us.preheader.i.i ]
  %.104.us.i.i = shl nsw i64 %.86152.us.i.i, 3
  %.105.us.i.i = add nsw i64 %.104.us.i.i, %.102.i.i492
  %.106.us.i.i = inttoptr i64 %.105.us.i.i to ptr
  %.107.us.i.i510 = load i64, ptr %.106.us.i.i, align 1, !noalias !99
  %.109.us.i.i = icmp eq i64 %.107.us.i.i510, %.98.i.i.i
  br i1 %.109.us.i.i, label %B408.us.i.i, label %B636.us.i.i

B408.us.i.i:                                      ; preds = %B310.us.i.i
  %sunkaddr1453 = inttoptr i64 %.376.i to ptr
  %sunkaddr1454 = getelementptr i8, ptr %sunkaddr1453, i64 %.25.i478
  %sunkaddr1455 = getelementptr i8, ptr %sunkaddr1454, i64 32
  %.115.us.i.i = load i64, ptr %sunkaddr1455, align 1, !noalias !99
  %sunkaddr1456 = inttoptr i64 %.115.us.i.i to ptr
  %sunkaddr1457 = mul i64 %.86152.us.i.i, 8
  %sunkaddr1458 = getelementptr i8, ptr %sunkaddr1456, i64 %sunkaddr1457
  %.120.us.i.i = load i64, ptr %sunkaddr1458, align 1, !noalias !99
  %.122.us.i.i = icmp eq i64 %.120.us.i.i, %.361.i
  br i1 %.122.us.i.i, label %B506.us.i.i, label %B636.us.i.i

B506.us.i.i:                                      ; preds = %B408.us.i.i
  %sunkaddr1459 = inttoptr i64 %.376.i to ptr
  %sunkaddr1460 = getelementptr i8, ptr %sunkaddr1459, i64 %.25.i478
  %sunkaddr1461 = getelementptr i8, ptr %sunkaddr1460, i64 24
  %.129.us.i.i = load i64, ptr %sunkaddr1461, align 1, !noalias !99
  %sunkaddr1462 = inttoptr i64 %.129.us.i.i to ptr
  %sunkaddr1463 = mul i64 %.86152.us.i.i, 8
  %sunkaddr1464 = getelementptr i8, ptr %sunkaddr1462, i64 %sunkaddr1463
  %.134.us.i.i = load i64, ptr %sunkaddr1464, align 1, !noalias !99
  %.136.us.i.i = add nsw i64 %.134.us.i.i, %.33.i.i
  br label %B16.i.us.i.i512

B16.i.us.i.i512:                                  ; preds = %B84.i.us.i.i519, %B506.us.i.i
  %lsr.iv109.i.i = phi i64 [ %151, %B506.us.i.i ], [ %lsr.iv.next110.i.i, %B84.i.us.i.i519 ]
  %lsr.iv107.i.i = phi i64 [ %152, %B506.us.i.i ], [ %lsr.iv.next108.i.i, %B84.i.us.i.i519 ]
  %i.2.0.i2.us.i.i = phi i64 [ %.136.us.i.i, %B506.us.i.i ], [ %.54.i.us.i.i520, %B84.i.us.i.i519 ]
  %j.2.0.i.us.i.i513 = phi i64 [ %.344.i, %B506.us.i.i ], [ %.60.i.us.i.i521, %B84.i.us.i.i519 ]
  %.37.i.us.i.i514 = inttoptr i64 %i.2.0.i2.us.i.i to ptr
  %.38.i.us.i.i515 = load i64, ptr %.37.i.us.i.i514, align 1, !noalias !105
  %.40.i.us.i.i516 = inttoptr i64 %j.2.0.i.us.i.i513 to ptr
  %.41.i.us.i.i517 = load i64, ptr %.40.i.us.i.i516, align 1, !noalias !105
  %.42.not.i.us.i.i518 = icmp eq i64 %.38.i.us.i.i515, %.41.i.us.i.i517
  br i1 %.42.not.i.us.i.i518, label %B84.i.us.i.i519, label %B636.us.i.i

B84.i.us.i.i519:                                  ; preds = %B16.i.us.i.i512
  %.54.i.us.i.i520 = add i64 %i.2.0.i2.us.i.i, 8
  %.60.i.us.i.i521 = add i64 %j.2.0.i.us.i.i513, 8
  %lsr.iv.next108.i.i = add i64 %lsr.iv107.i.i, -8
  %lsr.iv.next110.i.i = add i64 %lsr.iv109.i.i, 64
  %.71.i.us.i.i522 = icmp sgt i64 %lsr.iv.next108.i.i, 16
  br i1 %.71.i.us.i.i522, label %B16.i.us.i.i512, label %_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i.i523

_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i.i523: ; preds = %B84.i.us.i.i519
  %.91.i.us.i.i524 = inttoptr i64 %.54.i.us.i.i520 to ptr
  %.92.i.us.i.i525 = load i64, ptr %.91.i.us.i.i524, align 1, !noalias !105
  %.96.i1.us.i.i = inttoptr i64 %.60.i.us.i.i521 to ptr
  %.97.i.us.i.i526 = load i64, ptr %.96.i1.us.i.i, align 1, !noalias !105
  %.100.i.us.i.i527 = xor i64 %.97.i.us.i.i526, %.92.i.us.i.i525
  %.106.i.us.i.i528 = shl i64 %.100.i.us.i.i527, %lsr.iv.next110.i.i
  %.107.i.not.us.i.i529 = icmp eq i64 %.106.i.us.i.i528, 0
  br i1 %.107.i.not.us.i.i529, label %B788.endif.i, label %B636.us.i.i

B636.us.i.i:                                      ; preds = %_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i.i523, %B16.i.us.i.i512, %B408.us.i.i, %B310.us.i.i
  %.197.us.i.i = add nsw i64 %j.2.0151.us.i.i, 1
  %j.2.0.us.i.i511 = and i64 %.197.us.i.i, %.22.i.i
  %.82.us.i.i = shl nsw i64 %j.2.0.us.i.i511, 3
  %.84.us.i.i = add nsw i64 %.82.us.i.i, %.17.i.i490
  %.85.us.i.i = inttoptr i64 %.84.us.i.i to ptr
  %.86.us.i.i = load i64, ptr %.85.us.i.i, align 1, !noalias !99
  %.91.us.i.i = icmp slt i64 %.86.us.i.i, 0
  br i1 %.91.us.i.i, label %B654.i.i, label %B310.us.i.i

B310.lr.ph.split.i.i:                             ; preds = %B310.lr.ph.i.i
  %.85.i.i.i493 = icmp eq i64 %.360.fr.i, 1
  br i1 %.85.i.i.i493, label %B310.us23.i.i.preheader, label %B310.i.i.preheader

B310.us23.i.i.preheader:                          ; preds = %B310.lr.ph.split.i.i
  br label %B310.us23.i.i

B310.i.i.preheader:                               ; preds = %B310.lr.ph.split.i.i
  br label %B310.i.i

B310.us23.i.i:                                    ; preds = %B636.us43.i.i, %B310.us23.i.i.preheader
  %.86152.us24.i.i = phi i64 [ %.86.us49.i.i, %B636.us43.i.i ], [ %.86149.i.i, %B310.us23.i.i.preheader ]
  %j.2.0151.us25.i.i = phi i64 [ %j.2.0.us45.i.i, %B636.us43.i.i ], [ %j.2.0145.i.i, %B310.us23.i.i.preheader ]
  %.104.us26.i.i = shl nsw i64 %.86152.us24.i.i, 3
  %.105.us27.i.i = add nsw i64 %.104.us26.i.i, %.102.i.i492
  %.106.us28.i.i = inttoptr i64 %.105.us27.i.i to ptr
  %.107.us29.i.i = load i64, ptr %.106.us28.i.i, align 1, !noalias !99
  %.109.us30.i.i = icmp eq i64 %.107.us29.i.i, %.98.i.i.i
  br i1 %.109.us30.i.i, label %B408.us31.i.i, label %B636.us43.i.i

B408.us31.i.i:                                    ; preds = %B310.us23.i.i
  %sunkaddr1465 = inttoptr i64 %.376.i to ptr
  %sunkaddr1466 = getelementptr i8, ptr %sunkaddr1465, i64 %.25.i478
  %sunkaddr1467 = getelementptr i8, ptr %sunkaddr1466, i64 32
  %.115.us32.i.i = load i64, ptr %sunkaddr1467, align 1, !noalias !99
  %sunkaddr1468 = inttoptr i64 %.115.us32.i.i to ptr
  %sunkaddr1469 = mul i64 %.86152.us24.i.i, 8
  %sunkaddr1470 = getelementptr i8, ptr %sunkaddr1468, i64 %sunkaddr1469
  %.120.us35.i.i = load i64, ptr %sunkaddr1470, align 1, !noalias !99
  %.122.us36.i.i = icmp eq i64 %.120.us35.i.i, %.361.i
  br i1 %.122.us36.i.i, label %B890.i, label %B636.us43.i.i

B636.us43.i.i:                                    ; preds = %B408.us31.i.i, %B310.us23.i.i
  %.197.us44.i.i = add nsw i64 %j.2.0151.us25.i.i, 1
  %j.2.0.us45.i.i = and i64 %.197.us44.i.i, %.22.i.i
  %.82.us46.i.i = shl nsw i64 %j.2.0.us45.i.i, 3
  %.84.us47.i.i = add nsw i64 %.82.us46.i.i, %.17.i.i490
  %.85.us48.i.i = inttoptr i64 %.84.us47.i.i to ptr
  %.86.us49.i.i = load i64, ptr %.85.us48.i.i, align 1, !noalias !99
  %.91.us50.i.i = icmp slt i64 %.86.us49.i.i, 0
  br i1 %.91.us50.i.i, label %B654.i.i, label %B310.us23.i.i

B942.endif.i.i:                                   ; preds = %B818.i.i
  store i64 %.207.i.i, ptr %.85.lcssa.i.i, align 1, !noalias !99
  %sunkaddr1471 = inttoptr i64 %.376.i to ptr
  %sunkaddr1472 = getelementptr i8, ptr %sunkaddr1471, i64 %.25.i478
  %sunkaddr1473 = getelementptr i8, ptr %sunkaddr1472, i64 16
  %.278.i.i = load i64, ptr %sunkaddr1473, align 1, !noalias !99
  %.280.i.i = shl nsw i64 %.207.i.i, 3
  %.281.i.i = add nsw i64 %.278.i.i, %.280.i.i
  %.283.i.i = inttoptr i64 %.281.i.i to ptr
  store i64 %.98.i.i.i, ptr %.283.i.i, align 1, !noalias !99
  %sunkaddr1474 = inttoptr i64 %.376.i to ptr
  %sunkaddr1475 = getelementptr i8, ptr %sunkaddr1474, i64 %.25.i478
  %sunkaddr1476 = getelementptr i8, ptr %sunkaddr1475, i64 24
  %.291.i.i = load i64, ptr %sunkaddr1476, align 1, !noalias !99
  %.294.i.i = add nsw i64 %.291.i.i, %.280.i.i
  %.296.i.i = inttoptr i64 %.294.i.i to ptr
  store i64 %.215.i.i, ptr %.296.i.i, align 1, !noalias !99
  %sunkaddr1477 = inttoptr i64 %.376.i to ptr
  %sunkaddr1478 = getelementptr i8, ptr %sunkaddr1477, i64 %.25.i478
  %sunkaddr1479 = getelementptr i8, ptr %sunkaddr1478, i64 32
  %.302.i.i = load i64, ptr %sunkaddr1479, align 1, !noalias !99
  %.305.i.i = add nsw i64 %.302.i.i, %.280.i.i
  %.307.i.i = inttoptr i64 %.305.i.i to ptr
  store i64 %.361.i, ptr %.307.i.i, align 1, !noalias !99
  %153 = add nuw i64 %.360.fr.i, 6
  %.368.i.i = lshr i64 %153, 3
  %.389155.not160.i.i = icmp eq i64 %.368.i.i, 0
  br i1 %.389155.not160.i.i, label %B1378.i.i, label %B1298.lr.ph.i.i

B1298.lr.ph.i.i:                                  ; preds = %B942.endif.i.i
  %.429.i.i = add i64 %.215.i.i, %.33.i.i
  %xtraiter.i.i = and i64 %.368.i.i, 3
  %154 = icmp ult i64 %.360.fr.i, 26
  br i1 %154, label %B1298.epil.preheader.i.i, label %B1298.lr.ph.new.i.i

B1298.lr.ph.new.i.i:                              ; preds = %B1298.lr.ph.i.i
  %155 = lshr i64 %153, 5
  %156 = shl nuw nsw i64 %155, 2
  br label %B1298.i.i

B890.i:                                           ; preds = %B788.endif.i, %B408.us31.i.i, %B506.i.i
  %.207.sink.i85.i = phi i64 [ %.207.sink.i.i, %B788.endif.i ], [ %.86152.us24.i.i, %B408.us31.i.i ], [ %.86152.i.i, %B506.i.i ]
  %.175.off216.i = add i64 %.175.i, -1
  %switch217.i = icmp ult i64 %.175.off216.i, 3
  %.465.i = add nuw nsw i64 %.207.sink.i85.i, 2305843009213693952
  %spec.select.i504 = select i1 %switch217.i, i64 %.207.sink.i85.i, i64 %.465.i
  br label %B1056.i

B982.i:                                           ; preds = %B676.i
  %.494.i = icmp eq i64 %.175.i, 2
  br i1 %.494.i, label %B1004.i, label %B1056.i

B1004.i:                                          ; preds = %B982.i
  %157 = inttoptr i64 %.25.i478 to ptr
  %.17.i3.i = load i64, ptr %157, align 1, !noalias !109
  %sunkaddr1480 = inttoptr i64 %.25.i478 to ptr
  %sunkaddr1481 = getelementptr i8, ptr %sunkaddr1480, i64 8
  %.22.i6.i = load i64, ptr %sunkaddr1481, align 1, !noalias !109
  %sunkaddr1482 = inttoptr i64 %.25.i478 to ptr
  %sunkaddr1483 = getelementptr i8, ptr %sunkaddr1482, i64 80
  %.42.i9.i = load i64, ptr %sunkaddr1483, align 1, !noalias !109
  %.93.i.i10.i = mul i64 %.42.i9.i, %const1340
  %.96.i.i11.i = lshr i64 %.93.i.i10.i, 29
  %.98.i.i12.i = xor i64 %.96.i.i11.i, %.93.i.i10.i
  %j.2.0142.i.i = and i64 %.98.i.i12.i, %.22.i6.i
  %.82143.i.i = shl nsw i64 %j.2.0142.i.i, 3
  %.84144.i.i = add nsw i64 %.82143.i.i, %.17.i3.i
  %.85145.i.i = inttoptr i64 %.84144.i.i to ptr
  %.86146.i.i = load i64, ptr %.85145.i.i, align 1, !noalias !109
  %.91147.i.i = icmp slt i64 %.86146.i.i, 0
  br i1 %.91147.i.i, label %B654.i32.i, label %B310.lr.ph.i13.i

B310.i17.i:                                       ; preds = %B310.lr.ph.i13.i, %B636.i24.i
  %.86149.i18.i = phi i64 [ %.86146.i.i, %B310.lr.ph.i13.i ], [ %.86.i30.i, %B636.i24.i ]
  %j.2.0148.i.i = phi i64 [ %j.2.0142.i.i, %B310.lr.ph.i13.i ], [ %j.2.0.i26.i, %B636.i24.i ]
  %.104.i19.i = shl nsw i64 %.86149.i18.i, 3
  %.105.i20.i = add nsw i64 %.104.i19.i, %.102.i16.i
  %.106.i21.i = inttoptr i64 %.105.i20.i to ptr
  %.107.i22.i = load i64, ptr %.106.i21.i, align 1, !noalias !109
  %.109.i23.i = icmp eq i64 %.107.i22.i, %.98.i.i12.i
  br i1 %.109.i23.i, label %B408.i70.i, label %B636.i24.i

B408.i70.i:                                       ; preds = %B310.i17.i
  %sunkaddr1484 = inttoptr i64 %.25.i478 to ptr
  %sunkaddr1485 = getelementptr i8, ptr %sunkaddr1484, i64 32
  %.115.i72.i = load i64, ptr %sunkaddr1485, align 1, !noalias !109
  %sunkaddr1486 = inttoptr i64 %.115.i72.i to ptr
  %sunkaddr1487 = mul i64 %.86149.i18.i, 8
  %sunkaddr1488 = getelementptr i8, ptr %sunkaddr1486, i64 %sunkaddr1487
  %.120.i73.i = load i64, ptr %sunkaddr1488, align 1, !noalias !109
  %.122.i74.i = icmp eq i64 %.120.i73.i, 0
  br i1 %.122.i74.i, label %B1056.i, label %B636.i24.i

B636.i24.i:                                       ; preds = %B408.i70.i, %B310.i17.i
  %.197.i25.i = add nsw i64 %j.2.0148.i.i, 1
  %j.2.0.i26.i = and i64 %.197.i25.i, %.22.i6.i
  %.82.i27.i = shl nsw i64 %j.2.0.i26.i, 3
  %.84.i28.i = add nsw i64 %.82.i27.i, %.17.i3.i
  %.85.i29.i = inttoptr i64 %.84.i28.i to ptr
  %.86.i30.i = load i64, ptr %.85.i29.i, align 1, !noalias !109
  %.91.i31.i = icmp slt i64 %.86.i30.i, 0
  br i1 %.91.i31.i, label %B654.i32.i, label %B310.i17.i

B654.i32.i:                                       ; preds = %B636.i24.i, %B1004.i
  %.85.lcssa.i33.i = phi ptr [ %.85145.i.i, %B1004.i ], [ %.85.i29.i, %B636.i24.i ]
  %sunkaddr1489 = inttoptr i64 %.25.i478 to ptr
  %sunkaddr1490 = getelementptr i8, ptr %sunkaddr1489, i64 40
  %.207.i36.i = load i64, ptr %sunkaddr1490, align 1, !noalias !109
  %sunkaddr1491 = inttoptr i64 %.25.i478 to ptr
  %sunkaddr1492 = getelementptr i8, ptr %sunkaddr1491, i64 64
  %.215.i39.i = load i64, ptr %sunkaddr1492, align 1, !noalias !109
  %sunkaddr1493 = inttoptr i64 %.25.i478 to ptr
  %sunkaddr1494 = getelementptr i8, ptr %sunkaddr1493, i64 48
  %.223.i42.i = load i64, ptr %sunkaddr1494, align 1, !noalias !109
  %.225.not.i43.i = icmp slt i64 %.207.i36.i, %.223.i42.i
  br i1 %.225.not.i43.i, label %B818.i48.i, label %B1004.endif.thread.i

B818.i48.i:                                       ; preds = %B654.i32.i
  %sunkaddr1495 = inttoptr i64 %.25.i478 to ptr
  %sunkaddr1496 = getelementptr i8, ptr %sunkaddr1495, i64 72
  %.234.i51.i = load i64, ptr %sunkaddr1496, align 1, !noalias !109
  %.235.i52.i = icmp sgt i64 %.215.i39.i, %.234.i51.i
  br i1 %.235.i52.i, label %B1004.endif.thread.i, label %B1004.endif.i

B1004.endif.thread.i:                             ; preds = %B818.i48.i, %B654.i32.i
  %.253.i45.i = add nsw i64 %.25.i478, 96
  %.257.i46.i = inttoptr i64 %.253.i45.i to ptr
  store i64 0, ptr %.257.i46.i, align 1, !noalias !109
  br label %B6076

B310.lr.ph.i13.i:                                 ; preds = %B1004.i
  %sunkaddr1497 = inttoptr i64 %.25.i478 to ptr
  %sunkaddr1498 = getelementptr i8, ptr %sunkaddr1497, i64 16
  %.102.i16.i = load i64, ptr %sunkaddr1498, align 1, !noalias !109
  br label %B310.i17.i

B1056.i:                                          ; preds = %B1004.endif.i, %B408.i70.i, %B982.i, %B890.i, %B680.i, %B676.thread202.i, %B474.i
  %value.5.1.i = phi i64 [ %const1341, %B982.i ], [ %.207.i36.i, %B1004.endif.i ], [ %.344.i, %B680.i ], [ %const1341, %B474.i ], [ %const1341, %B676.thread202.i ], [ %spec.select.i504, %B890.i ], [ %.86149.i18.i, %B408.i70.i ]
  %sunkaddr230.i = inttoptr i64 %.167.i485 to ptr
  %sunkaddr231.i = getelementptr i8, ptr %sunkaddr230.i, i64 %.168.i486
  %sunkaddr232.i = getelementptr i8, ptr %sunkaddr231.i, i64 24
  %.555.i = load i64, ptr %sunkaddr232.i, align 1, !noalias !96
  %sunkaddr1499 = inttoptr i64 %.555.i to ptr
  %sunkaddr1500 = mul i64 %.4255, 8
  %sunkaddr1501 = getelementptr i8, ptr %sunkaddr1499, i64 %sunkaddr1500
  store i64 %value.5.1.i, ptr %sunkaddr1501, align 1, !noalias !96
  %.125.i = icmp samesign ugt i64 %.124223233.i, 1
  br i1 %.125.i, label %B238.i, label %B5652

B788.endif.i:                                     ; preds = %_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i.i523, %B1378.i.i
  %.207.sink.i.i = phi i64 [ %.207.i.i, %B1378.i.i ], [ %.86152.us.i.i, %_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i.i523 ]
  %.413.i = icmp slt i64 %.207.sink.i.i, 0
  br i1 %.413.i, label %B6076, label %B890.i

B1004.endif.i:                                    ; preds = %B818.i48.i
  store i64 %.207.i36.i, ptr %.85.lcssa.i33.i, align 1, !noalias !109
  %sunkaddr1502 = inttoptr i64 %.25.i478 to ptr
  %sunkaddr1503 = getelementptr i8, ptr %sunkaddr1502, i64 16
  %.278.i55.i = load i64, ptr %sunkaddr1503, align 1, !noalias !109
  %.280.i56.i = shl nsw i64 %.207.i36.i, 3
  %.281.i57.i = add nsw i64 %.278.i55.i, %.280.i56.i
  %.283.i58.i = inttoptr i64 %.281.i57.i to ptr
  store i64 %.98.i.i12.i, ptr %.283.i58.i, align 1, !noalias !109
  %sunkaddr1504 = inttoptr i64 %.25.i478 to ptr
  %sunkaddr1505 = getelementptr i8, ptr %sunkaddr1504, i64 24
  %.291.i61.i = load i64, ptr %sunkaddr1505, align 1, !noalias !109
  %.294.i62.i = add nsw i64 %.291.i61.i, %.280.i56.i
  %.296.i63.i = inttoptr i64 %.294.i62.i to ptr
  store i64 %.215.i39.i, ptr %.296.i63.i, align 1, !noalias !109
  %sunkaddr1506 = inttoptr i64 %.25.i478 to ptr
  %sunkaddr1507 = getelementptr i8, ptr %sunkaddr1506, i64 32
  %.302.i66.i = load i64, ptr %sunkaddr1507, align 1, !noalias !109
  %.305.i67.i = add nsw i64 %.302.i66.i, %.280.i56.i
  %.307.i68.i = inttoptr i64 %.305.i67.i to ptr
  store i64 0, ptr %.307.i68.i, align 1, !noalias !109
  %.450.i69.i = add nsw i64 %.207.i36.i, 1
  %sunkaddr1508 = inttoptr i64 %.25.i478 to ptr
  %sunkaddr1509 = getelementptr i8, ptr %sunkaddr1508, i64 40
  store i64 %.450.i69.i, ptr %sunkaddr1509, align 1, !noalias !109
  %sunkaddr1510 = inttoptr i64 %.25.i478 to ptr
  %sunkaddr1511 = getelementptr i8, ptr %sunkaddr1510, i64 64
  store i64 %.215.i39.i, ptr %sunkaddr1511, align 1, !noalias !109
  %.527.i = icmp slt i64 %.207.i36.i, 0
  br i1 %.527.i, label %B6076, label %B1056.i

B5652:                                            ; preds = %B1056.i, %B5602
  %.582.i = add nsw i64 %.4255, 1
  %sunkaddr1512 = inttoptr i64 %.4207 to ptr
  %sunkaddr1513 = getelementptr i8, ptr %sunkaddr1512, i64 %.4209
  %sunkaddr1514 = getelementptr i8, ptr %sunkaddr1513, i64 24
  store i64 %.582.i, ptr %sunkaddr1514, align 1, !noalias !96
  %.4354 = icmp ne i64 %"$phi746.0.2.0.sink.i771", 8
  %or.cond1511 = and i1 %fractions.4.4, %.4354
  br i1 %or.cond1511, label %B5678, label %B5890

B5678:                                            ; preds = %B5652
  %sunkaddr1515 = inttoptr i64 %arg.state to ptr
  %sunkaddr1516 = getelementptr i8, ptr %sunkaddr1515, i64 120
  store i64 1, ptr %sunkaddr1516, align 1
  br label %B5890

B5764.critedge:                                   ; preds = %B5142.endif, %B4420.endif, %B4024.endif, %B3782.endif, %B3504.endif, %B3326.endif.endif, %B2352.endif, %B2160.endif, %B1882.endif, %B1784.endif, %B1646.endif, %B1560.endif, %B1490.endif, %B1150.endif, %B1072.endif, %B5438, %B5320, %B5218, %B5086, %B4770, %B4770, %B4770, %B4602, %B3960, %B3908, %B3854, %B3504.endif.2, %B3444.2, %B3326.endif.endif.2, %B3504.endif.1, %B3444.1, %B3326.endif.endif.1, %B3444, %B3274, %B3196, %B328.1.i, %B328.i, %B328.peel.i, %B266.i, %B190.i, %B1932, %B80.i190, %B1324, %B950, %B854.preheader
  store i64 0, ptr %.4434, align 8
  %.4438 = call i32 @f2(ptr nonnull %.4434, ptr nonnull %excinfo.29, i64 %i.31.0, i64 %.13.i852)
  %.4448 = load i64, ptr %.4434, align 8
  %cond866 = icmp eq i32 %.4438, 0
  br i1 %cond866, label %B5764.endif, label %B5764.if.if, !prof !20

B5856:                                            ; preds = %B5764.endif
  %sunkaddr1517 = inttoptr i64 %arg.state to ptr
  %sunkaddr1518 = getelementptr i8, ptr %sunkaddr1517, i64 96
  %.13.i531 = load i64, ptr %sunkaddr1518, align 1, !noalias !112
  %sunkaddr1519 = inttoptr i64 %arg.state to ptr
  %sunkaddr1520 = getelementptr i8, ptr %sunkaddr1519, i64 80
  %.21.i = load i64, ptr %sunkaddr1520, align 1, !noalias !112
  %.25.i534 = mul nsw i64 %.13.i531, 88
  %.26.i = add nsw i64 %.21.i, %.25.i534
  %.31.i535 = inttoptr i64 %.26.i to ptr
  store i64 %i.31.0, ptr %.31.i535, align 1, !noalias !112
  %.34.i536 = add nsw i64 %.26.i, 8
  %.35.i = inttoptr i64 %.34.i536 to ptr
  store i64 %.4448, ptr %.35.i, align 1, !noalias !112
  %.157.i537 = add nsw i64 %.26.i, 16
  %sunkaddr1521 = inttoptr i64 %arg.state to ptr
  %sunkaddr1522 = getelementptr i8, ptr %sunkaddr1521, i64 56
  %.164.i = load i64, ptr %sunkaddr1522, align 1, !noalias !112
  %.167.i539 = add i64 %.164.i, 24
  %.168.i540 = inttoptr i64 %.167.i539 to ptr
  %.169.i541 = load i64, ptr %.168.i540, align 1, !noalias !112
  %.170.i542 = inttoptr i64 %.157.i537 to ptr
  store i64 %.169.i541, ptr %.170.i542, align 1, !noalias !112
  %.159.1.i = add nsw i64 %.26.i, 24
  %.164.1.i = load i64, ptr %sunkaddr1522, align 1, !noalias !112
  %.167.1.i = add i64 %.164.1.i, 72
  %.168.1.i = inttoptr i64 %.167.1.i to ptr
  %.169.1.i = load i64, ptr %.168.1.i, align 1, !noalias !112
  %.170.1.i = inttoptr i64 %.159.1.i to ptr
  store i64 %.169.1.i, ptr %.170.1.i, align 1, !noalias !112
  %.159.2.i = add nsw i64 %.26.i, 32
  %.164.2.i = load i64, ptr %sunkaddr1522, align 1, !noalias !112
  %.167.2.i = add i64 %.164.2.i, 120
  %.168.2.i = inttoptr i64 %.167.2.i to ptr
  %.169.2.i = load i64, ptr %.168.2.i, align 1, !noalias !112
  %.170.2.i = inttoptr i64 %.159.2.i to ptr
  store i64 %.169.2.i, ptr %.170.2.i, align 1, !noalias !112
  %.159.3.i = add nsw i64 %.26.i, 40
  %.164.3.i = load i64, ptr %sunkaddr1522, align 1, !noalias !112
  %.167.3.i = add i64 %.164.3.i, 168
  %.168.3.i = inttoptr i64 %.167.3.i to ptr
  %.169.3.i = load i64, ptr %.168.3.i, align 1, !noalias !112
  %.170.3.i = inttoptr i64 %.159.3.i to ptr
  store i64 %.169.3.i, ptr %.170.3.i, align 1, !noalias !112
  %.159.4.i = add nsw i64 %.26.i, 48
  %.164.4.i = load i64, ptr %sunkaddr1522, align 1, !noalias !112
  %.167.4.i = add i64 %.164.4.i, 216
  %.168.4.i = inttoptr i64 %.167.4.i to ptr
  %.169.4.i = load i64, ptr %.168.4.i, align 1, !noalias !112
  %.170.4.i = inttoptr i64 %.159.4.i to ptr
  store i64 %.169.4.i, ptr %.170.4.i, align 1, !noalias !112
  %.159.5.i = add nsw i64 %.26.i, 56
  %.164.5.i = load i64, ptr %sunkaddr1522, align 1, !noalias !112
  %.167.5.i = add i64 %.164.5.i, 264
  %.168.5.i = inttoptr i64 %.167.5.i to ptr
  %.169.5.i = load i64, ptr %.168.5.i, align 1, !noalias !112
  %.170.5.i = inttoptr i64 %.159.5.i to ptr
  store i64 %.169.5.i, ptr %.170.5.i, align 1, !noalias !112
  %.159.6.i = add nsw i64 %.26.i, 64
  %.164.6.i = load i64, ptr %sunkaddr1522, align 1, !noalias !112
  %.167.6.i = add i64 %.164.6.i, 312
  %.168.6.i = inttoptr i64 %.167.6.i to ptr
  %.169.6.i = load i64, ptr %.168.6.i, align 1, !noalias !112
  %.170.6.i = inttoptr i64 %.159.6.i to ptr
  store i64 %.169.6.i, ptr %.170.6.i, align 1, !noalias !112
  %.159.7.i = add nsw i64 %.26.i, 72
  %.164.7.i = load i64, ptr %sunkaddr1522, align 1, !noalias !112
  %.167.7.i = add i64 %.164.7.i, 360
  %.168.7.i = inttoptr i64 %.167.7.i to ptr
  %.169.7.i = load i64, ptr %.168.7.i, align 1, !noalias !112
  %.170.7.i = inttoptr i64 %.159.7.i to ptr
  store i64 %.169.7.i, ptr %.170.7.i, align 1, !noalias !112
  %.159.8.i = add nsw i64 %.26.i, 80
  %.164.8.i = load i64, ptr %sunkaddr1522, align 1, !noalias !112
  %.167.8.i = add i64 %.164.8.i, 408
  %.168.8.i = inttoptr i64 %.167.8.i to ptr
  %.169.8.i = load i64, ptr %.168.8.i, align 1, !noalias !112
  %.170.8.i = inttoptr i64 %.159.8.i to ptr
  store i64 %.169.8.i, ptr %.170.8.i, align 1, !noalias !112
  %.185.i = add nsw i64 %.13.i531, 1
  store i64 %.185.i, ptr %sunkaddr1518, align 1, !noalias !112
  br label %B5890

B5890:                                            ; preds = %B5276.endif, %B5856, %B5678, %B5652, %B132.i, %B132.i, %B132.i, %B132.i
  %i.44.1 = phi i64 [ %.4448, %B5856 ], [ %.3966, %B5652 ], [ %.3966, %B5678 ], [ %.3966, %B5276.endif ], [ %.3966, %B132.i ], [ %.3966, %B132.i ], [ %.3966, %B132.i ], [ %.3966, %B132.i ]
  %.4537 = add nuw nsw i64 %events.2.0, 1
  %.12.i157 = inttoptr i64 %i.44.1 to ptr
  %.13.i158 = load i8, ptr %.12.i157, align 1, !noalias !115
  %158 = zext i8 %.13.i158 to i32
  switch i32 %158, label %B5890.endif [
    i32 32, label %B82.i160.preheader
    i32 10, label %B82.i160.preheader
    i32 13, label %B82.i160.preheader
    i32 9, label %B82.i160.preheader
  ]

B82.i160.preheader:                               ; preds = %B5890, %B5890, %B5890, %B5890
  %159 = add i64 %i.44.1, 1
  br label %B82.i160

B82.i160:                                         ; preds = %B82.i160.backedge, %B82.i160.preheader
  %lsr.iv1313 = phi i64 [ %lsr.iv.next1314, %B82.i160.backedge ], [ %159, %B82.i160.preheader ]
  %.61.i162 = inttoptr i64 %lsr.iv1313 to ptr
  %.62.i163 = load i8, ptr %.61.i162, align 1, !noalias !115
  %160 = zext i8 %.62.i163 to i32
  switch i32 %160, label %B5890.endif.loopexit [
    i32 32, label %B82.i160.backedge
    i32 10, label %B82.i160.backedge
    i32 13, label %B82.i160.backedge
    i32 9, label %B82.i160.backedge
  ]

B82.i160.backedge:                                ; preds = %B82.i160, %B82.i160, %B82.i160, %B82.i160
  %lsr.iv.next1314 = add i64 %lsr.iv1313, 1
  br label %B82.i160

B5942:                                            ; preds = %B5890.endif
  %161 = zext i8 %.4586 to i32
  switch i32 %161, label %B6076 [
    i32 44, label %B5984
    i32 93, label %B6062
    i32 123, label %B6062
  ]

B5984:                                            ; preds = %B5942
  %.4598 = add nsw i64 %i.3.1.i167, 1
  %.12.i169 = inttoptr i64 %.4598 to ptr
  %.13.i170 = load i8, ptr %.12.i169, align 1, !noalias !118
  %162 = zext i8 %.13.i170 to i32
  switch i32 %162, label %B6062 [
    i32 32, label %B82.preheader.i171
    i32 10, label %B82.preheader.i171
    i32 13, label %B82.preheader.i171
    i32 9, label %B82.preheader.i171
  ]

B82.preheader.i171:                               ; preds = %B5984, %B5984, %B5984, %B5984
  %163 = add i64 %i.3.1.i167, 2
  br label %B82.i172

B82.i172:                                         ; preds = %B82.backedge.i176, %B82.preheader.i171
  %lsr.iv.i173 = phi i64 [ %lsr.iv.next.i177, %B82.backedge.i176 ], [ %163, %B82.preheader.i171 ]
  %.61.i174 = inttoptr i64 %lsr.iv.i173 to ptr
  %.62.i175 = load i8, ptr %.61.i174, align 1, !noalias !118
  %164 = zext i8 %.62.i175 to i32
  switch i32 %164, label %B6062.loopexit [
    i32 32, label %B82.backedge.i176
    i32 10, label %B82.backedge.i176
    i32 13, label %B82.backedge.i176
    i32 9, label %B82.backedge.i176
  ]

B82.backedge.i176:                                ; preds = %B82.i172, %B82.i172, %B82.i172, %B82.i172
  %lsr.iv.next.i177 = add i64 %lsr.iv.i173, 1
  br label %B82.i172

B6062.loopexit:                                   ; preds = %B82.i172
  br label %B6062

B6062:                                            ; preds = %B5890.endif, %B6062.loopexit, %B5984, %B5942, %B5942
  %i.32.1 = phi i64 [ %i.3.1.i167, %B5890.endif ], [ %i.3.1.i167, %B5942 ], [ %i.3.1.i167, %B5942 ], [ %.4598, %B5984 ], [ %lsr.iv.i173, %B6062.loopexit ]
  %.4695 = icmp slt i64 %i.32.1, %.11
  br i1 %.4695, label %B526.endif, label %B6076

common.ret:                                       ; preds = %B5764.if.if, %B2352.if.if, %B2160.if.if, %B1560.if.if, %B1490.if.if, %B1072.if.if, %B6076
  %common.ret.op = phi i32 [ 0, %B6076 ], [ %.1102, %B1560.if.if ], [ %.1012, %B1490.if.if ], [ %.4438, %B5764.if.if ], [ %.1649, %B2160.if.if ], [ %.1774, %B2352.if.if ], [ %.697, %B1072.if.if ]
  ret i32 %common.ret.op

B6076:                                            ; preds = %B5764.endif, %B526.endif, %B6062, %B5942, %B1004.endif.i, %B788.endif.i, %B1004.endif.thread.i, %B788.endif.thread86.i, %B5494, %B5222, %B764, %B638, %B510.1
  %i.45.1 = phi i64 [ %i.3.1.i, %B510.1 ], [ %i.31.0, %B1004.endif.thread.i ], [ %i.31.0, %B788.endif.i ], [ %i.31.0, %B788.endif.thread86.i ], [ %i.31.0, %B1004.endif.i ], [ %i.31.0, %B5764.endif ], [ %i.3.1.i167, %B5942 ], [ %i.31.0, %B5494 ], [ %i.32.1, %B6062 ], [ %i.31.0, %B5222 ], [ %i.31.0, %B764 ], [ %i.31.0, %B526.endif ], [ %i.31.0, %B638 ]
  %events.3.1 = phi i64 [ 0, %B510.1 ], [ %events.2.0, %B1004.endif.thread.i ], [ %events.2.0, %B788.endif.i ], [ %events.2.0, %B788.endif.thread86.i ], [ %events.2.0, %B1004.endif.i ], [ %events.2.0, %B5764.endif ], [ %.4537, %B5942 ], [ %events.2.0, %B5494 ], [ %.4537, %B6062 ], [ %events.2.0, %B5222 ], [ %events.2.0, %B764 ], [ %events.2.0, %B526.endif ], [ %events.2.0, %B638 ]
  %why.11.1 = phi i64 [ 0, %B510.1 ], [ 3, %B1004.endif.thread.i ], [ 3, %B788.endif.i ], [ 3, %B788.endif.thread86.i ], [ 3, %B1004.endif.i ], [ 4, %B5764.endif ], [ 4, %B5942 ], [ 2, %B5494 ], [ 0, %B6062 ], [ 4, %B5222 ], [ 4, %B764 ], [ 1, %B526.endif ], [ 2, %B638 ]
  %165 = inttoptr i64 %arg.state to ptr
  store i64 %i.45.1, ptr %165, align 1
  %.4728 = add nsw i64 %arg.state, 112
  %.4734 = inttoptr i64 %.4728 to ptr
  %.4735 = load i64, ptr %.4734, align 1
  %.4737 = add nsw i64 %.4735, %events.3.1
  store i64 %.4737, ptr %.4734, align 1
  store i64 %why.11.1, ptr %retptr, align 8
  br label %common.ret

B0.endif.endif.endif.loopexit:                    ; preds = %B82.i
  br label %B0.endif.endif.endif

B0.endif.endif.endif:                             ; preds = %B0.endif.endif.endif.loopexit, %B0
  %i.3.1.i = phi i64 [ %.44, %B0 ], [ %lsr.iv1319, %B0.endif.endif.endif.loopexit ]
  %.199 = add nsw i64 %arg.state, 72
  %.200 = inttoptr i64 %.199 to ptr
  %.201 = load i64, ptr %.200, align 1
  %.210 = add nsw i64 %.201, 88
  %.211 = inttoptr i64 %.210 to ptr
  %.212 = load i64, ptr %.211, align 1
  %.213.not = icmp eq i64 %.212, 0
  br i1 %.213.not, label %B510, label %B480

B526.endif:                                       ; preds = %B6062, %B526.preheader
  %i.31.0 = phi i64 [ %i.32.1, %B6062 ], [ %i.3.1.i, %B526.preheader ]
  %events.2.0 = phi i64 [ %.4537, %B6062 ], [ 0, %B526.preheader ]
  %.299 = add nsw i64 %i.31.0, 1048576
  %.13.i852 = tail call i64 @llvm.smin.i64(i64 %.299, i64 %.11)
  %.333 = inttoptr i64 %i.31.0 to ptr
  %.334 = load i8, ptr %.333, align 1
  %.340 = icmp eq i8 %.334, 93
  br i1 %.340, label %B6076, label %B638

B1072.endif:                                      ; preds = %B1072
  %const_mat1347 = add i64 %const1344, 3
  %166 = and i64 %.707, %const_mat1347
  %or.cond.not = icmp eq i64 %166, 0
  br i1 %or.cond.not, label %B1140, label %B5764.critedge

B1072.if.if:                                      ; preds = %B1072
  store ptr null, ptr %excinfo, align 8
  br label %common.ret

B1150.endif.loopexit:                             ; preds = %B82.i16
  br label %B1150.endif

B1150.endif:                                      ; preds = %B1150.endif.loopexit, %B1150
  %.809 = phi i8 [ %.13.i14, %B1150 ], [ %.62.i19, %B1150.endif.loopexit ]
  %i.3.1.i23 = phi i64 [ %.777, %B1150 ], [ %lsr.iv.i17, %B1150.endif.loopexit ]
  %.811.not = icmp eq i8 %.809, 58
  br i1 %.811.not, label %B1228, label %B5764.critedge

B1228.endif.loopexit:                             ; preds = %B82.i28
  %167 = inttoptr i64 %lsr.iv.i29 to ptr
  br label %B1228.endif

B1228.endif:                                      ; preds = %B1228.endif.loopexit, %B1228
  %.882.pre-phi = phi ptr [ %.12.i25, %B1228 ], [ %167, %B1228.endif.loopexit ]
  %.883 = phi i8 [ %.13.i26, %B1228 ], [ %.62.i31, %B1228.endif.loopexit ]
  %i.3.1.i35 = phi i64 [ %.851, %B1228 ], [ %lsr.iv.i29, %B1228.endif.loopexit ]
  %.895 = icmp sgt i64 %key.2.4, -1
  br i1 %.895, label %B1324, label %B1478

B1490.endif:                                      ; preds = %B1490
  %.1022 = load i64, ptr %.1008, align 8
  %.1032 = ashr i64 %.1022, 3
  %.1033 = add nuw nsw i64 %.1032, 1
  %.1038 = icmp slt i64 %.1032, 0
  br i1 %.1038, label %B5764.critedge, label %B4932

B1490.if.if:                                      ; preds = %B1490
  store ptr null, ptr %excinfo, align 8
  br label %common.ret

B1560.endif:                                      ; preds = %B1560
  %.1112 = load i64, ptr %.1098, align 8
  %.1128 = icmp slt i64 %.1112, 0
  br i1 %.1128, label %B5764.critedge, label %B4932

B1560.if.if:                                      ; preds = %B1560
  %.1110 = icmp sgt i32 %.1102, 0
  %.1103 = load ptr, ptr %excinfo.10, align 8
  %.1111 = select i1 %.1110, ptr %.1103, ptr undef
  store ptr %.1111, ptr %excinfo, align 8
  br label %common.ret

B1646.endif.loopexit:                             ; preds = %B82.i40
  br label %B1646.endif

B1646.endif:                                      ; preds = %B1646.endif.loopexit, %B1646
  %.1227 = phi i8 [ %.13.i38, %B1646 ], [ %.62.i43, %B1646.endif.loopexit ]
  %i.3.1.i47 = phi i64 [ %.1195, %B1646 ], [ %lsr.iv.i41, %B1646.endif.loopexit ]
  %168 = zext i8 %.1227 to i32
  switch i32 %168, label %B5764.critedge [
    i32 34, label %B894
    i32 125, label %B1770
  ]

B1784.endif:                                      ; preds = %B80.i, %B70.i
  %.sink.i = phi i64 [ %.24.i, %B70.i ], [ %spec.select.i, %B80.i ]
  %.1351 = icmp slt i64 %.sink.i, 0
  %.1354 = icmp ne i8 %.883, 110
  %or.cond1494 = or i1 %.1351, %.1354
  br i1 %or.cond1494, label %B5764.critedge, label %B4932

B1882.endif:                                      ; preds = %B80.i190, %B70.i187
  %.sink.i189 = phi i64 [ %.24.i188, %B70.i187 ], [ %.36.i193, %B80.i190 ]
  %.1456 = icmp slt i64 %.sink.i189, 0
  br i1 %.1456, label %B5764.critedge, label %B1932

B2160.endif:                                      ; preds = %B2160
  %.1673 = icmp slt i64 %.1659, 0
  br i1 %.1673, label %B5764.critedge, label %B2208

B2160.if.if:                                      ; preds = %B2160
  %.1657 = icmp sgt i32 %.1649, 0
  %.1650 = load ptr, ptr %excinfo.14, align 8
  %.1658 = select i1 %.1657, ptr %.1650, ptr undef
  store ptr %.1658, ptr %excinfo, align 8
  br label %common.ret

B2352.endif:                                      ; preds = %B2352
  %.1798 = icmp slt i64 %.1784, 0
  br i1 %.1798, label %B5764.critedge, label %B2410

B2352.if.if:                                      ; preds = %B2352
  store ptr null, ptr %excinfo, align 8
  br label %common.ret

B2746.endif:                                      ; preds = %B210.i, %B106.i
  %.122.lcssa.sink.i = phi i64 [ %value.2.0.i, %B106.i ], [ %.122.i, %B210.i ]
  %.128.lcssa.sink.i = phi i64 [ %i.2.0.i, %B106.i ], [ %.128.i, %B210.i ]
  %.2064 = icmp eq i64 %.128.lcssa.sink.i, %.1842
  %.2072 = icmp sgt i64 %.128.lcssa.sink.i, %.2022
  %or.cond1497 = select i1 %.2064, i1 %.2072, i1 false
  br i1 %or.cond1497, label %B2858, label %B3004

B3326.endif.loopexit:                             ; preds = %B82.i52
  br label %B3326.endif

B3326.endif:                                      ; preds = %B3326.endif.loopexit, %B3326.preheader
  %.2576 = phi i8 [ %.13.i50, %B3326.preheader ], [ %.62.i55, %B3326.endif.loopexit ]
  %i.3.1.i59 = phi i64 [ %.2491, %B3326.preheader ], [ %lsr.iv.i53, %B3326.endif.loopexit ]
  %const1349 = bitcast i64 -9187201950435737472 to i64
  %const1338 = bitcast i64 8536140394893047414 to i64
  %const1335 = bitcast i64 3472328296227680304 to i64
  %const1331 = bitcast i64 4294967296000100 to i64
  %const1328 = bitcast i64 42949672960001 to i64
  %const1323 = bitcast i64 1095216660735 to i64
  br label %B10.i421

B10.i421:                                         ; preds = %B210.i439, %B3326.endif
  %i.2.0.i422 = phi i64 [ %i.3.1.i59, %B3326.endif ], [ %.128.i458, %B210.i439 ]
  %value.2.0.i423 = phi i64 [ 0, %B3326.endif ], [ %.122.i457, %B210.i439 ]
  %.16.i424 = inttoptr i64 %i.2.0.i422 to ptr
  %.17.i425 = load i64, ptr %.16.i424, align 1, !noalias !121
  %.18.i426 = xor i64 %.17.i425, %const1335
  %.27.i427 = add i64 %.18.i426, %const1338
  %.29.i428 = or i64 %.27.i427, %.17.i425
  %.30.i429 = and i64 %.29.i428, %const1349
  %.38.not.i430 = icmp eq i64 %.30.i429, 0
  br i1 %.38.not.i430, label %B210.i439, label %B106.i431

B106.i431:                                        ; preds = %B10.i421
  %.45.i432 = tail call range(i64 7, 65) i64 @llvm.cttz.i64(i64 %.30.i429, i1 true)
  %.48.i433 = lshr i64 %.45.i432, 3
  %.53.i434 = icmp eq i64 %.48.i433, 0
  br i1 %.53.i434, label %B3326.endif.endif, label %B162.i435

B162.i435:                                        ; preds = %B106.i431
  %.81.i436 = and i64 %.45.i432, 56
  %.84.i437 = sub nuw nsw i64 64, %.81.i436
  %.86.i438 = shl i64 %.18.i426, %.84.i437
  br label %B210.i439

B210.i439:                                        ; preds = %B162.i435, %B10.i421
  %word.3.1.i440 = phi i64 [ %.86.i438, %B162.i435 ], [ %.18.i426, %B10.i421 ]
  %k.2.1.i441 = phi i64 [ %.48.i433, %B162.i435 ], [ 8, %B10.i421 ]
  %.97.i442 = mul i64 %word.3.1.i440, 10
  %.99.i443 = lshr i64 %word.3.1.i440, 8
  %.103.i444 = add i64 %.97.i442, %.99.i443
  %.104.i445 = and i64 %.103.i444, %const1323
  %.105.i446 = mul i64 %.104.i445, %const1331
  %.106.i447 = lshr i64 %.103.i444, 16
  %.107.i448 = and i64 %.106.i447, %const1323
  %.108.i449 = mul i64 %.107.i448, %const1328
  %.110.i450 = shl nuw nsw i64 %k.2.1.i441, 3
  %.112.i451 = add nsw i64 %.110.i450, %.27
  %.113.i452 = inttoptr i64 %.112.i451 to ptr
  %.114.i453 = load i64, ptr %.113.i452, align 1, !noalias !121
  %.116.i454 = mul i64 %.114.i453, %value.2.0.i423
  %.119.i455 = add i64 %.108.i449, %.105.i446
  %.120.i456 = lshr i64 %.119.i455, 32
  %.122.i457 = add i64 %.120.i456, %.116.i454
  %.128.i458 = add nsw i64 %k.2.1.i441, %i.2.0.i422
  %.135.i459 = icmp samesign ult i64 %k.2.1.i441, 8
  br i1 %.135.i459, label %B3326.endif.endif, label %B10.i421

B3326.endif.endif:                                ; preds = %B210.i439, %B106.i431
  %.122.lcssa.sink.i460 = phi i64 [ %value.2.0.i423, %B106.i431 ], [ %.122.i457, %B210.i439 ]
  %.128.lcssa.sink.i461 = phi i64 [ %i.2.0.i422, %B106.i431 ], [ %.128.i458, %B210.i439 ]
  %.2564 = icmp eq i64 %.128.lcssa.sink.i461, %i.3.1.i59
  %.2568 = sub nsw i64 %.128.lcssa.sink.i461, %i.3.1.i59
  %.2569 = icmp sgt i64 %.2568, 10
  %or.cond1499 = select i1 %.2564, i1 true, i1 %.2569
  %.2572 = icmp sgt i64 %.122.lcssa.sink.i460, 2147483647
  %or.cond1500 = select i1 %or.cond1499, i1 true, i1 %.2572
  br i1 %or.cond1500, label %B5764.critedge, label %B3444

B3504.endif.loopexit:                             ; preds = %B82.i64
  br label %B3504.endif

B3504.endif:                                      ; preds = %B3504.endif.loopexit, %B3504
  %.2654 = phi i8 [ %.13.i62, %B3504 ], [ %.62.i67, %B3504.endif.loopexit ]
  %i.3.1.i71 = phi i64 [ %.128.lcssa.sink.i461, %B3504 ], [ %lsr.iv1303, %B3504.endif.loopexit ]
  %.2673.not = icmp eq i8 %.2654, 44
  br i1 %.2673.not, label %B3698, label %B5764.critedge

B3782.endif:                                      ; preds = %B210.i310, %B106.i302
  %.122.lcssa.sink.i331 = phi i64 [ %value.2.0.i294, %B106.i302 ], [ %.122.i328, %B210.i310 ]
  %.128.lcssa.sink.i332 = phi i64 [ %i.2.0.i293, %B106.i302 ], [ %.128.i329, %B210.i310 ]
  %.2832 = sub nsw i64 %.128.lcssa.sink.i332, %spec.select1502
  %.2837 = icmp eq i64 %.128.lcssa.sink.i332, %spec.select1502
  %.2840 = icmp sgt i64 %.2832, 18
  %or.cond1503 = or i1 %.2837, %.2840
  br i1 %or.cond1503, label %B5764.critedge, label %B3854

B4024.endif:                                      ; preds = %B210.i353, %B106.i345
  %.122.lcssa.sink.i374 = phi i64 [ %value.2.0.i337, %B106.i345 ], [ %.122.i371, %B210.i353 ]
  %.128.lcssa.sink.i375 = phi i64 [ %i.2.0.i336, %B106.i345 ], [ %.128.i372, %B210.i353 ]
  %169 = xor i64 %.128.lcssa.sink.i332, -1
  %.3055 = add i64 %.128.lcssa.sink.i375, %169
  %.3060 = icmp eq i64 %.3055, 0
  %.3063 = icmp sgt i64 %.3055, 18
  %or.cond1506 = or i1 %.3060, %.3063
  br i1 %or.cond1506, label %B5764.critedge, label %B4130

B4204.else:                                       ; preds = %B4204
  %const_mat1346 = add i64 %const1344, 2
  %.3156 = icmp ne i64 %.122.lcssa.sink.i374, %const_mat1346
  %.3157 = icmp ne i64 %.3137, -1
  %.3158.not = or i1 %.3156, %.3157
  br i1 %.3158.not, label %B4204.else.if, label %B4204.endif, !prof !124

B4204.endif:                                      ; preds = %183, %B4204.else, %B4204
  %quot.0 = phi i64 [ 0, %B4204 ], [ 0, %B4204.else ], [ %spec.select1513, %183 ]
  %.3184 = mul nsw i64 %quot.0, %.3137
  %.3186 = sub nsw i64 %.122.lcssa.sink.i374, %.3184
  %.3189 = shl nsw i64 %.3186, 1
  %.3194 = add nsw i64 %quot.0, %.2974
  %.3202 = icmp sgt i64 %.3189, %.3137
  br i1 %.3202, label %B4336, label %B4306

B4204.else.if:                                    ; preds = %B4204.else
  %170 = or i64 %.122.lcssa.sink.i374, %.3137
  %171 = and i64 %170, -4294967296
  %172 = icmp eq i64 %171, 0
  br i1 %172, label %173, label %180

173:                                              ; preds = %B4204.else.if
  %174 = trunc i64 %.3137 to i32
  %175 = trunc i64 %.122.lcssa.sink.i374 to i32
  %176 = udiv i32 %175, %174
  %177 = urem i32 %175, %174
  %178 = zext i32 %176 to i64
  %179 = zext i32 %177 to i64
  br label %183

180:                                              ; preds = %B4204.else.if
  %181 = sdiv i64 %.122.lcssa.sink.i374, %.3137
  %182 = srem i64 %.122.lcssa.sink.i374, %.3137
  br label %183

183:                                              ; preds = %180, %173
  %184 = phi i64 [ %178, %173 ], [ %181, %180 ]
  %185 = phi i64 [ %179, %173 ], [ %182, %180 ]
  %.3163 = xor i64 %185, %.3137
  %.3164 = icmp slt i64 %.3163, 0
  %.3165 = icmp ne i64 %185, 0
  %.3166 = and i1 %.3165, %.3164
  %.3171 = sext i1 %.3166 to i64
  %spec.select1513 = add i64 %184, %.3171
  br label %B4204.endif

B4420.endif:                                      ; preds = %B210.i396, %B106.i388
  %.122.lcssa.sink.i417 = phi i64 [ %value.2.0.i380, %B106.i388 ], [ %.122.i414, %B210.i396 ]
  %.128.lcssa.sink.i418 = phi i64 [ %i.2.0.i379, %B106.i388 ], [ %.128.i415, %B210.i396 ]
  %186 = xor i64 %.128.lcssa.sink.i332, -1
  %.3390 = add i64 %.128.lcssa.sink.i418, %186
  %.3395 = icmp eq i64 %.3390, 0
  %.3399 = add nsw i64 %.3390, %.2832
  %.3402 = icmp sgt i64 %.3399, 18
  %or.cond1508 = select i1 %.3395, i1 true, i1 %.3402
  br i1 %or.cond1508, label %B5764.critedge, label %B4514

B4932.endif.loopexit:                             ; preds = %B82.i124
  br label %B4932.endif

B4932.endif:                                      ; preds = %B4932.endif.loopexit, %B4932
  %.3868 = phi i8 [ %.13.i122, %B4932 ], [ %.62.i127, %B4932.endif.loopexit ]
  %i.3.1.i131 = phi i64 [ %i.38.4, %B4932 ], [ %lsr.iv1309, %B4932.endif.loopexit ]
  %.3878 = icmp eq i8 %.3868, 125
  br i1 %.3878, label %B5004, label %B5086

B5142.endif.loopexit:                             ; preds = %B82.i148
  br label %B5142.endif

B5142.endif:                                      ; preds = %B5142.endif.loopexit, %B5142
  %.4085 = phi i8 [ %.13.i146, %B5142 ], [ %.62.i151, %B5142.endif.loopexit ]
  %i.3.1.i155 = phi i64 [ %.4053, %B5142 ], [ %lsr.iv.i149, %B5142.endif.loopexit ]
  %.4087 = icmp eq i8 %.4085, 34
  br i1 %.4087, label %B894.outer, label %B5764.critedge

B5276.endif:                                      ; preds = %B386.i.i, %B284.us7.i.i, %B126.i.loopexit.us.i.i, %_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i.i
  %.115.pre-phi.i = phi i64 [ %.101.us10.i.i, %B284.us7.i.i ], [ %.101.us.i.i, %_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx.exit.us.i.i ], [ %.101.us.i.i, %B126.i.loopexit.us.i.i ], [ %.101.i.i, %B386.i.i ]
  %.118.i = add i64 %.99.i.i, 16
  %.119.i471 = add i64 %.118.i, %.115.pre-phi.i
  %.120.i472 = inttoptr i64 %.119.i471 to ptr
  %.121.i = load i64, ptr %.120.i472, align 1, !noalias !87
  %.4197 = icmp sgt i64 %.121.i, -1
  br i1 %.4197, label %B5320, label %B5890

B5764.endif:                                      ; preds = %B5764.critedge
  %.4464 = icmp slt i64 %.4448, 0
  %.4468 = sub nsw i64 %.4448, %i.31.0
  %.4469 = icmp sgt i64 %.4468, 1048576
  %or.cond1512 = select i1 %.4464, i1 true, i1 %.4469
  br i1 %or.cond1512, label %B6076, label %B5856

B5764.if.if:                                      ; preds = %B5764.critedge
  %.4446 = icmp sgt i32 %.4438, 0
  %.4439 = load ptr, ptr %excinfo.29, align 8
  %.4447 = select i1 %.4446, ptr %.4439, ptr undef
  store ptr %.4447, ptr %excinfo, align 8
  br label %common.ret

B5890.endif.loopexit:                             ; preds = %B82.i160
  br label %B5890.endif

B5890.endif:                                      ; preds = %B5890.endif.loopexit, %B5890
  %.4586 = phi i8 [ %.13.i158, %B5890 ], [ %.62.i163, %B5890.endif.loopexit ]
  %i.3.1.i167 = phi i64 [ %i.44.1, %B5890 ], [ %lsr.iv1313, %B5890.endif.loopexit ]
  %.4580 = icmp slt i64 %i.3.1.i167, %.11
  br i1 %.4580, label %B5942, label %B6062
}

declare i32 @llvm.cttz.i32(i32, i1 immarg)

declare i64 @llvm.smin.i64(i64, i64)

define internal noundef range(i32 -1, -2) i32 @f1(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, i64 %arg.i, i64 %arg.n) local_unnamed_addr {
B0:
  %.27195 = icmp slt i64 %arg.i, %arg.n
  br i1 %.27195, label %B22.preheader, label %common.ret

B22.preheader:                                    ; preds = %B0
  br label %B22

B22:                                              ; preds = %B790, %B94, %B22.preheader
  %i.7.1 = phi i64 [ %arg.i, %B22.preheader ], [ %.85, %B94 ], [ %i.8.2, %B790 ]
  %flags.5.1 = phi i64 [ 0, %B22.preheader ], [ %spec.select, %B94 ], [ %flags.8.2, %B790 ]
  %.35 = inttoptr i64 %i.7.1 to ptr
  %.36 = load <32 x i8>, ptr %.35, align 1
  %.37 = icmp eq <32 x i8> %.36, splat (i8 34)
  %.38 = icmp eq <32 x i8> %.36, splat (i8 92)
  %.39 = or <32 x i1> %.37, %.38
  %.40 = icmp ult <32 x i8> %.36, splat (i8 32)
  %.41 = or <32 x i1> %.40, %.39
  %.42 = bitcast <32 x i1> %.41 to i32
  %.50 = icmp slt <32 x i8> %.36, zeroinitializer
  %.51 = bitcast <32 x i1> %.50 to i32
  %.57 = icmp eq i32 %.42, 0
  br i1 %.57, label %B94, label %B138

B94:                                              ; preds = %B22
  %.66.not = icmp eq i32 %.51, 0
  %.71 = or i64 %flags.5.1, 2
  %spec.select = select i1 %.66.not, i64 %flags.5.1, i64 %.71
  %.85 = add nsw i64 %i.7.1, 32
  %.27 = icmp slt i64 %.85, %arg.n
  br i1 %.27, label %B22, label %common.ret

B138:                                             ; preds = %B22
  %.52 = zext i32 %.51 to i64
  %0 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.42, i1 true)
  %.96 = zext nneg i32 %0 to i64
  %notmask = shl nsw i64 -1, %.96
  %.104 = xor i64 %notmask, -1
  %.106 = and i64 %.104, %.52
  %.109.not = icmp eq i64 %.106, 0
  %.112 = or i64 %flags.5.1, 2
  %spec.select142 = select i1 %.109.not, i64 %flags.5.1, i64 %.112
  %.122 = add nsw i64 %i.7.1, %.96
  %.131 = inttoptr i64 %.122 to ptr
  %.132 = load i8, ptr %.131, align 1
  %1 = zext i8 %.132 to i32
  switch i32 %1, label %common.ret [
    i32 34, label %B270
    i32 92, label %B302
  ]

common.ret:                                       ; preds = %B602.endif, %B370.endif, %B790, %B134.3.i42, %B134.2.i29, %B134.1.i16, %B134.i5, %B554, %B516, %B134.3.i, %B134.2.i, %B134.1.i, %B134.i, %B302, %B270, %B138, %B94, %B0
  %.sink = phi i64 [ -1, %B0 ], [ %.149, %B270 ], [ -1, %B94 ], [ -1, %B138 ], [ -1, %B302 ], [ -1, %B134.i ], [ -1, %B134.1.i ], [ -1, %B134.2.i ], [ -1, %B134.3.i ], [ -1, %B516 ], [ -1, %B554 ], [ -1, %B134.i5 ], [ -1, %B134.1.i16 ], [ -1, %B134.2.i29 ], [ -1, %B134.3.i42 ], [ -1, %B790 ], [ -1, %B370.endif ], [ -1, %B602.endif ]
  store i64 %.sink, ptr %retptr, align 8
  ret i32 0

B270:                                             ; preds = %B138
  %.145 = shl nsw i64 %.122, 3
  %.149 = add nsw i64 %spec.select142, %.145
  br label %common.ret

B302:                                             ; preds = %B138
  %.168 = add nsw i64 %.122, 1
  %.169 = inttoptr i64 %.168 to ptr
  %.170 = load i8, ptr %.169, align 1
  %2 = zext i8 %.170 to i32
  switch i32 %2, label %common.ret [
    i32 117, label %B370
    i32 34, label %B774
    i32 92, label %B774
    i32 47, label %B774
    i32 98, label %B774
    i32 102, label %B774
    i32 110, label %B774
    i32 114, label %B774
    i32 116, label %B774
  ]

B370:                                             ; preds = %B302
  %.188 = or i64 %spec.select142, 5
  %.196 = add nsw i64 %.122, 2
  %.131.i = inttoptr i64 %.196 to ptr
  %.132.i = load i8, ptr %.131.i, align 1, !noalias !125
  %.133.i = zext i8 %.132.i to i64
  %3 = add i8 %.132.i, -48
  %or.cond.i = icmp ult i8 %3, 10
  br i1 %or.cond.i, label %B110.i, label %B134.i

B110.i:                                           ; preds = %B370
  %.161.i = add nsw i64 %.133.i, -48
  br label %B233.i

B134.i:                                           ; preds = %B370
  %4 = trunc i64 %.133.i to i8
  %5 = zext i8 %4 to i32
  switch i32 %5, label %common.ret [
    i32 102, label %B196.i
    i32 101, label %B196.i
    i32 100, label %B196.i
    i32 99, label %B196.i
    i32 98, label %B196.i
    i32 97, label %B196.i
    i32 70, label %B196.i
    i32 69, label %B196.i
    i32 68, label %B196.i
    i32 67, label %B196.i
    i32 66, label %B196.i
    i32 65, label %B196.i
  ]

B196.i:                                           ; preds = %B134.i, %B134.i, %B134.i, %B134.i, %B134.i, %B134.i, %B134.i, %B134.i, %B134.i, %B134.i, %B134.i, %B134.i
  %.211.i = and i64 %.133.i, 7
  %.215.i = add nuw nsw i64 %.211.i, 9
  br label %B233.i

B233.i:                                           ; preds = %B196.i, %B110.i
  %value.4.1.i = phi i64 [ %.161.i, %B110.i ], [ %.215.i, %B196.i ]
  %.130.1.i = add nsw i64 %.122, 3
  %.131.1.i = inttoptr i64 %.130.1.i to ptr
  %.132.1.i = load i8, ptr %.131.1.i, align 1, !noalias !125
  %.133.1.i = zext i8 %.132.1.i to i64
  %6 = add i8 %.132.1.i, -48
  %or.cond.1.i = icmp ult i8 %6, 10
  br i1 %or.cond.1.i, label %B110.1.i, label %B134.1.i

B134.1.i:                                         ; preds = %B233.i
  %7 = trunc i64 %.133.1.i to i8
  %8 = zext i8 %7 to i32
  switch i32 %8, label %common.ret [
    i32 102, label %B196.1.i
    i32 101, label %B196.1.i
    i32 100, label %B196.1.i
    i32 99, label %B196.1.i
    i32 98, label %B196.1.i
    i32 97, label %B196.1.i
    i32 70, label %B196.1.i
    i32 69, label %B196.1.i
    i32 68, label %B196.1.i
    i32 67, label %B196.1.i
    i32 66, label %B196.1.i
    i32 65, label %B196.1.i
  ]

B196.1.i:                                         ; preds = %B134.1.i, %B134.1.i, %B134.1.i, %B134.1.i, %B134.1.i, %B134.1.i, %B134.1.i, %B134.1.i, %B134.1.i, %B134.1.i, %B134.1.i, %B134.1.i
  %.207.1.i = shl nuw nsw i64 %value.4.1.i, 4
  %.211.1.i = and i64 %.133.1.i, 7
  %.214.1.i = or disjoint i64 %.207.1.i, 9
  %.215.1.i = add nuw nsw i64 %.214.1.i, %.211.1.i
  br label %B233.1.i

B110.1.i:                                         ; preds = %B233.i
  %.154.1.i = shl nuw nsw i64 %value.4.1.i, 4
  %.158.1.i = add nsw i64 %.154.1.i, -48
  %.161.1.i = add nsw i64 %.158.1.i, %.133.1.i
  br label %B233.1.i

B233.1.i:                                         ; preds = %B110.1.i, %B196.1.i
  %value.4.1.1.i = phi i64 [ %.161.1.i, %B110.1.i ], [ %.215.1.i, %B196.1.i ]
  %.130.2.i = add nsw i64 %.122, 4
  %.131.2.i = inttoptr i64 %.130.2.i to ptr
  %.132.2.i = load i8, ptr %.131.2.i, align 1, !noalias !125
  %.133.2.i = zext i8 %.132.2.i to i64
  %9 = add i8 %.132.2.i, -48
  %or.cond.2.i = icmp ult i8 %9, 10
  br i1 %or.cond.2.i, label %B110.2.i, label %B134.2.i

B134.2.i:                                         ; preds = %B233.1.i
  %10 = trunc i64 %.133.2.i to i8
  %11 = zext i8 %10 to i32
  switch i32 %11, label %common.ret [
    i32 102, label %B196.2.i
    i32 101, label %B196.2.i
    i32 100, label %B196.2.i
    i32 99, label %B196.2.i
    i32 98, label %B196.2.i
    i32 97, label %B196.2.i
    i32 70, label %B196.2.i
    i32 69, label %B196.2.i
    i32 68, label %B196.2.i
    i32 67, label %B196.2.i
    i32 66, label %B196.2.i
    i32 65, label %B196.2.i
  ]

B196.2.i:                                         ; preds = %B134.2.i, %B134.2.i, %B134.2.i, %B134.2.i, %B134.2.i, %B134.2.i, %B134.2.i, %B134.2.i, %B134.2.i, %B134.2.i, %B134.2.i, %B134.2.i
  %.207.2.i = shl nuw nsw i64 %value.4.1.1.i, 4
  %.211.2.i = and i64 %.133.2.i, 7
  %.214.2.i = or disjoint i64 %.207.2.i, 9
  %.215.2.i = add nuw nsw i64 %.214.2.i, %.211.2.i
  br label %B233.2.i

B110.2.i:                                         ; preds = %B233.1.i
  %.154.2.i = shl nuw nsw i64 %value.4.1.1.i, 4
  %.158.2.i = add nsw i64 %.154.2.i, -48
  %.161.2.i = add nsw i64 %.158.2.i, %.133.2.i
  br label %B233.2.i

B233.2.i:                                         ; preds = %B110.2.i, %B196.2.i
  %value.4.1.2.i = phi i64 [ %.161.2.i, %B110.2.i ], [ %.215.2.i, %B196.2.i ]
  %.130.3.i = add nsw i64 %.122, 5
  %.131.3.i = inttoptr i64 %.130.3.i to ptr
  %.132.3.i = load i8, ptr %.131.3.i, align 1, !noalias !125
  %.133.3.i = zext i8 %.132.3.i to i64
  %12 = add i8 %.132.3.i, -48
  %or.cond.3.i = icmp ult i8 %12, 10
  br i1 %or.cond.3.i, label %B110.3.i, label %B134.3.i

B134.3.i:                                         ; preds = %B233.2.i
  %13 = trunc i64 %.133.3.i to i8
  %14 = zext i8 %13 to i32
  switch i32 %14, label %common.ret [
    i32 102, label %B196.3.i
    i32 101, label %B196.3.i
    i32 100, label %B196.3.i
    i32 99, label %B196.3.i
    i32 98, label %B196.3.i
    i32 97, label %B196.3.i
    i32 70, label %B196.3.i
    i32 69, label %B196.3.i
    i32 68, label %B196.3.i
    i32 67, label %B196.3.i
    i32 66, label %B196.3.i
    i32 65, label %B196.3.i
  ]

B196.3.i:                                         ; preds = %B134.3.i, %B134.3.i, %B134.3.i, %B134.3.i, %B134.3.i, %B134.3.i, %B134.3.i, %B134.3.i, %B134.3.i, %B134.3.i, %B134.3.i, %B134.3.i
  %.207.3.i = shl nuw nsw i64 %value.4.1.2.i, 4
  %.211.3.i = and i64 %.133.3.i, 7
  %.214.3.i = or disjoint i64 %.207.3.i, 9
  %.215.3.i = add nuw nsw i64 %.214.3.i, %.211.3.i
  br label %B370.endif

B110.3.i:                                         ; preds = %B233.2.i
  %.154.3.i = shl nuw nsw i64 %value.4.1.2.i, 4
  %.158.3.i = add nsw i64 %.154.3.i, -48
  %.161.3.i = add nsw i64 %.158.3.i, %.133.3.i
  br label %B370.endif

B474:                                             ; preds = %B370.endif
  %.264 = add nsw i64 %.122, 6
  %or.cond145 = icmp eq i64 %27, 55296
  br i1 %or.cond145, label %B516, label %B790

B516:                                             ; preds = %B474
  %.307 = inttoptr i64 %.264 to ptr
  %.308 = load i8, ptr %.307, align 1
  %.310.not = icmp eq i8 %.308, 92
  br i1 %.310.not, label %B554, label %common.ret

B554:                                             ; preds = %B516
  %.313 = add nsw i64 %.122, 7
  %.314 = inttoptr i64 %.313 to ptr
  %.315 = load i8, ptr %.314, align 1
  %.317.not = icmp eq i8 %.315, 117
  br i1 %.317.not, label %B602, label %common.ret

B602:                                             ; preds = %B554
  %.329 = add nsw i64 %.122, 8
  %.131.i1 = inttoptr i64 %.329 to ptr
  %.132.i2 = load i8, ptr %.131.i1, align 1, !noalias !128
  %.133.i3 = zext i8 %.132.i2 to i64
  %15 = add i8 %.132.i2, -48
  %or.cond.i4 = icmp ult i8 %15, 10
  br i1 %or.cond.i4, label %B110.i61, label %B134.i5

B110.i61:                                         ; preds = %B602
  %.161.i62 = add nsw i64 %.133.i3, -48
  br label %B233.i9

B134.i5:                                          ; preds = %B602
  %16 = trunc i64 %.133.i3 to i8
  %17 = zext i8 %16 to i32
  switch i32 %17, label %common.ret [
    i32 102, label %B196.i6
    i32 101, label %B196.i6
    i32 100, label %B196.i6
    i32 99, label %B196.i6
    i32 98, label %B196.i6
    i32 97, label %B196.i6
    i32 70, label %B196.i6
    i32 69, label %B196.i6
    i32 68, label %B196.i6
    i32 67, label %B196.i6
    i32 66, label %B196.i6
    i32 65, label %B196.i6
  ]

B196.i6:                                          ; preds = %B134.i5, %B134.i5, %B134.i5, %B134.i5, %B134.i5, %B134.i5, %B134.i5, %B134.i5, %B134.i5, %B134.i5, %B134.i5, %B134.i5
  %.211.i7 = and i64 %.133.i3, 7
  %.215.i8 = add nuw nsw i64 %.211.i7, 9
  br label %B233.i9

B233.i9:                                          ; preds = %B196.i6, %B110.i61
  %value.4.1.i10 = phi i64 [ %.161.i62, %B110.i61 ], [ %.215.i8, %B196.i6 ]
  %.130.1.i11 = add nsw i64 %.122, 9
  %.131.1.i12 = inttoptr i64 %.130.1.i11 to ptr
  %.132.1.i13 = load i8, ptr %.131.1.i12, align 1, !noalias !128
  %.133.1.i14 = zext i8 %.132.1.i13 to i64
  %18 = add i8 %.132.1.i13, -48
  %or.cond.1.i15 = icmp ult i8 %18, 10
  br i1 %or.cond.1.i15, label %B110.1.i57, label %B134.1.i16

B134.1.i16:                                       ; preds = %B233.i9
  %19 = trunc i64 %.133.1.i14 to i8
  %20 = zext i8 %19 to i32
  switch i32 %20, label %common.ret [
    i32 102, label %B196.1.i17
    i32 101, label %B196.1.i17
    i32 100, label %B196.1.i17
    i32 99, label %B196.1.i17
    i32 98, label %B196.1.i17
    i32 97, label %B196.1.i17
    i32 70, label %B196.1.i17
    i32 69, label %B196.1.i17
    i32 68, label %B196.1.i17
    i32 67, label %B196.1.i17
    i32 66, label %B196.1.i17
    i32 65, label %B196.1.i17
  ]

B196.1.i17:                                       ; preds = %B134.1.i16, %B134.1.i16, %B134.1.i16, %B134.1.i16, %B134.1.i16, %B134.1.i16, %B134.1.i16, %B134.1.i16, %B134.1.i16, %B134.1.i16, %B134.1.i16, %B134.1.i16
  %.207.1.i18 = shl nuw nsw i64 %value.4.1.i10, 4
  %.211.1.i19 = and i64 %.133.1.i14, 7
  %.214.1.i20 = or disjoint i64 %.207.1.i18, 9
  %.215.1.i21 = add nuw nsw i64 %.214.1.i20, %.211.1.i19
  br label %B233.1.i22

B110.1.i57:                                       ; preds = %B233.i9
  %.154.1.i58 = shl nuw nsw i64 %value.4.1.i10, 4
  %.158.1.i59 = add nsw i64 %.154.1.i58, -48
  %.161.1.i60 = add nsw i64 %.158.1.i59, %.133.1.i14
  br label %B233.1.i22

B233.1.i22:                                       ; preds = %B110.1.i57, %B196.1.i17
  %value.4.1.1.i23 = phi i64 [ %.161.1.i60, %B110.1.i57 ], [ %.215.1.i21, %B196.1.i17 ]
  %.130.2.i24 = add nsw i64 %.122, 10
  %.131.2.i25 = inttoptr i64 %.130.2.i24 to ptr
  %.132.2.i26 = load i8, ptr %.131.2.i25, align 1, !noalias !128
  %.133.2.i27 = zext i8 %.132.2.i26 to i64
  %21 = add i8 %.132.2.i26, -48
  %or.cond.2.i28 = icmp ult i8 %21, 10
  br i1 %or.cond.2.i28, label %B110.2.i53, label %B134.2.i29

B134.2.i29:                                       ; preds = %B233.1.i22
  %22 = trunc i64 %.133.2.i27 to i8
  %23 = zext i8 %22 to i32
  switch i32 %23, label %common.ret [
    i32 102, label %B196.2.i30
    i32 101, label %B196.2.i30
    i32 100, label %B196.2.i30
    i32 99, label %B196.2.i30
    i32 98, label %B196.2.i30
    i32 97, label %B196.2.i30
    i32 70, label %B196.2.i30
    i32 69, label %B196.2.i30
    i32 68, label %B196.2.i30
    i32 67, label %B196.2.i30
    i32 66, label %B196.2.i30
    i32 65, label %B196.2.i30
  ]

B196.2.i30:                                       ; preds = %B134.2.i29, %B134.2.i29, %B134.2.i29, %B134.2.i29, %B134.2.i29, %B134.2.i29, %B134.2.i29, %B134.2.i29, %B134.2.i29, %B134.2.i29, %B134.2.i29, %B134.2.i29
  %.207.2.i31 = shl nuw nsw i64 %value.4.1.1.i23, 4
  %.211.2.i32 = and i64 %.133.2.i27, 7
  %.214.2.i33 = or disjoint i64 %.207.2.i31, 9
  %.215.2.i34 = add nuw nsw i64 %.214.2.i33, %.211.2.i32
  br label %B233.2.i35

B110.2.i53:                                       ; preds = %B233.1.i22
  %.154.2.i54 = shl nuw nsw i64 %value.4.1.1.i23, 4
  %.158.2.i55 = add nsw i64 %.154.2.i54, -48
  %.161.2.i56 = add nsw i64 %.158.2.i55, %.133.2.i27
  br label %B233.2.i35

B233.2.i35:                                       ; preds = %B110.2.i53, %B196.2.i30
  %value.4.1.2.i36 = phi i64 [ %.161.2.i56, %B110.2.i53 ], [ %.215.2.i34, %B196.2.i30 ]
  %.130.3.i37 = add nsw i64 %.122, 11
  %.131.3.i38 = inttoptr i64 %.130.3.i37 to ptr
  %.132.3.i39 = load i8, ptr %.131.3.i38, align 1, !noalias !128
  %.133.3.i40 = zext i8 %.132.3.i39 to i64
  %24 = add i8 %.132.3.i39, -48
  %or.cond.3.i41 = icmp ult i8 %24, 10
  br i1 %or.cond.3.i41, label %B110.3.i49, label %B134.3.i42

B134.3.i42:                                       ; preds = %B233.2.i35
  %25 = trunc i64 %.133.3.i40 to i8
  %26 = zext i8 %25 to i32
  switch i32 %26, label %common.ret [
    i32 102, label %B196.3.i43
    i32 101, label %B196.3.i43
    i32 100, label %B196.3.i43
    i32 99, label %B196.3.i43
    i32 98, label %B196.3.i43
    i32 97, label %B196.3.i43
    i32 70, label %B196.3.i43
    i32 69, label %B196.3.i43
    i32 68, label %B196.3.i43
    i32 67, label %B196.3.i43
    i32 66, label %B196.3.i43
    i32 65, label %B196.3.i43
  ]

B196.3.i43:                                       ; preds = %B134.3.i42, %B134.3.i42, %B134.3.i42, %B134.3.i42, %B134.3.i42, %B134.3.i42, %B134.3.i42, %B134.3.i42, %B134.3.i42, %B134.3.i42, %B134.3.i42, %B134.3.i42
  %.207.3.i44 = shl nuw nsw i64 %value.4.1.2.i36, 4
  %.211.3.i45 = and i64 %.133.3.i40, 7
  %.214.3.i46 = or disjoint i64 %.207.3.i44, 9
  %.215.3.i47 = add nuw nsw i64 %.214.3.i46, %.211.3.i45
  br label %B602.endif

B110.3.i49:                                       ; preds = %B233.2.i35
  %.154.3.i50 = shl nuw nsw i64 %value.4.1.2.i36, 4
  %.158.3.i51 = add nsw i64 %.154.3.i50, -48
  %.161.3.i52 = add nsw i64 %.158.3.i51, %.133.3.i40
  br label %B602.endif

B666:                                             ; preds = %B602.endif
  %.376 = add nsw i64 %.122, 12
  br label %B790

B774:                                             ; preds = %B302, %B302, %B302, %B302, %B302, %B302, %B302, %B302
  %.176 = or i64 %spec.select142, 1
  %.429 = add nsw i64 %.122, 2
  br label %B790

B790:                                             ; preds = %B774, %B666, %B474
  %i.8.2 = phi i64 [ %.264, %B474 ], [ %.429, %B774 ], [ %.376, %B666 ]
  %flags.8.2 = phi i64 [ %.188, %B474 ], [ %.176, %B774 ], [ %.188, %B666 ]
  %.453 = icmp slt i64 %i.8.2, %arg.n
  br i1 %.453, label %B22, label %common.ret

B370.endif:                                       ; preds = %B110.3.i, %B196.3.i
  %storemerge.i = phi i64 [ %.161.3.i, %B110.3.i ], [ %.215.3.i, %B196.3.i ]
  %27 = and i64 %storemerge.i, 9223372036854774784
  %or.cond = icmp eq i64 %27, 56320
  br i1 %or.cond, label %common.ret, label %B474

B602.endif:                                       ; preds = %B110.3.i49, %B196.3.i43
  %storemerge.i48 = phi i64 [ %.161.3.i52, %B110.3.i49 ], [ %.215.3.i47, %B196.3.i43 ]
  %28 = add nsw i64 %storemerge.i48, -57344
  %or.cond143 = icmp ult i64 %28, -1024
  br i1 %or.cond143, label %common.ret, label %B666
}

define internal range(i32 -1, -2) i32 @f2(ptr noalias writeonly captures(none) %retptr, ptr noalias writeonly captures(none) %excinfo, i64 %arg.i, i64 %arg.n) local_unnamed_addr {
B0:
  %.204 = alloca i64, align 8
  %excinfo.2 = alloca ptr, align 8
  %.644 = alloca i64, align 8
  %excinfo.7 = alloca ptr, align 8
  br label %B14

B14:                                              ; preds = %B886, %B696, %B14.backedge.loopexit, %B208, %B0
  %i.13.1 = phi i64 [ %arg.i, %B0 ], [ %i.3.1.i, %B208 ], [ %i.15.3, %B696 ], [ %.735, %B886 ], [ %lsr.iv.i41, %B14.backedge.loopexit ]
  %depth.4.1 = phi i64 [ 0, %B0 ], [ %.51, %B208 ], [ %depth.5.3, %B696 ], [ %depth.5.3, %B886 ], [ %depth.5.3, %B14.backedge.loopexit ]
  %objects.4.1 = phi i64 [ 0, %B0 ], [ %.80, %B208 ], [ %objects.5.3, %B696 ], [ %objects.5.3, %B886 ], [ %objects.5.3, %B14.backedge.loopexit ]
  %.38 = inttoptr i64 %i.13.1 to ptr
  %.39 = load i8, ptr %.38, align 1
  %.40 = zext i8 %.39 to i64
  %0 = zext i8 %.39 to i32
  switch i32 %0, label %B356 [
    i32 123, label %B68
    i32 91, label %B68
    i32 34, label %B272
    i32 45, label %B388
  ]

B68:                                              ; preds = %B14, %B14
  %.51 = add nsw i64 %depth.4.1, 1
  %.58 = icmp sgt i64 %depth.4.1, 59
  br i1 %.58, label %B100, label %B104

common.ret:                                       ; preds = %B748.if, %B272.if, %B882, %B804, %B744, %B650, %B506, %B478, %B430, %B328, %B100
  %common.ret.op = phi i32 [ 0, %B100 ], [ 0, %B328 ], [ 0, %B430 ], [ 0, %B478 ], [ 0, %B506 ], [ 0, %B650 ], [ 0, %B744 ], [ 0, %B804 ], [ 0, %B882 ], [ %.208, %B272.if ], [ %.648, %B748.if ]
  ret i32 %common.ret.op

B100:                                             ; preds = %B68
  store i64 -1, ptr %retptr, align 8
  br label %common.ret

B104:                                             ; preds = %B68
  %1 = trunc i64 %.40 to i8
  %.73 = shl nsw i64 %objects.4.1, 1
  %.77 = icmp eq i8 %1, 123
  %.79 = zext i1 %.77 to i64
  %.80 = or disjoint i64 %.73, %.79
  %.86 = add nsw i64 %i.13.1, 1
  %.12.i = inttoptr i64 %.86 to ptr
  %.13.i = load i8, ptr %.12.i, align 1, !noalias !131
  %2 = zext i8 %.13.i to i32
  switch i32 %2, label %B104.endif [
    i32 32, label %B82.preheader.i
    i32 10, label %B82.preheader.i
    i32 13, label %B82.preheader.i
    i32 9, label %B82.preheader.i
  ]

B82.preheader.i:                                  ; preds = %B104, %B104, %B104, %B104
  %3 = add i64 %i.13.1, 2
  br label %B82.i

B82.i:                                            ; preds = %B82.backedge.i, %B82.preheader.i
  %lsr.iv.i = phi i64 [ %lsr.iv.next.i, %B82.backedge.i ], [ %3, %B82.preheader.i ]
  %.61.i = inttoptr i64 %lsr.iv.i to ptr
  %.62.i = load i8, ptr %.61.i, align 1, !noalias !131
  %4 = zext i8 %.62.i to i32
  switch i32 %4, label %B104.endif.loopexit [
    i32 32, label %B82.backedge.i
    i32 10, label %B82.backedge.i
    i32 13, label %B82.backedge.i
    i32 9, label %B82.backedge.i
  ]

B82.backedge.i:                                   ; preds = %B82.i, %B82.i, %B82.i, %B82.i
  %lsr.iv.next.i = add i64 %lsr.iv.i, 1
  br label %B82.i

B208:                                             ; preds = %B104.endif
  %5 = trunc i64 %.40 to i8
  %6 = icmp eq i8 %5, 91
  br i1 %6, label %B14, label %B482

B14.backedge.loopexit:                            ; preds = %B82.i40
  br label %B14

B224:                                             ; preds = %B104.endif
  %.187 = add nsw i64 %i.3.1.i, 1
  br label %B494.preheader

B272:                                             ; preds = %B14
  %.200 = add nsw i64 %i.13.1, 1
  store i64 0, ptr %.204, align 8
  %.208 = call i32 @f1(ptr nonnull %.204, ptr nonnull %excinfo.2, i64 %.200, i64 %arg.n)
  %cond80 = icmp eq i32 %.208, 0
  br i1 %cond80, label %B272.endif, label %B272.if, !prof !20

B328:                                             ; preds = %B272.endif
  store i64 -1, ptr %retptr, align 8
  br label %common.ret

B332:                                             ; preds = %B272.endif
  %.263 = add nuw nsw i64 %.228, 1
  br label %B494.preheader

B356:                                             ; preds = %B14
  %7 = trunc i64 %.40 to i8
  %8 = add i8 %7, -48
  %or.cond220 = icmp ult i8 %8, 10
  br i1 %or.cond220, label %B388, label %B436

B388:                                             ; preds = %B356, %B14
  %9 = trunc i64 %.40 to i8
  %.15.i = icmp eq i8 %9, 45
  %.18.i = zext i1 %.15.i to i64
  %spec.select.i = add nsw i64 %i.13.1, %.18.i
  %.27.i = inttoptr i64 %spec.select.i to ptr
  %.28.i = load i8, ptr %.27.i, align 1, !noalias !134
  %.34.i = icmp eq i8 %.28.i, 48
  br i1 %.34.i, label %B94.i, label %B172.i

B94.i:                                            ; preds = %B388
  %.39.i = add nsw i64 %spec.select.i, 1
  %.46.i = inttoptr i64 %.39.i to ptr
  %.47.i = load i8, ptr %.46.i, align 1, !noalias !134
  %.53.i = icmp ugt i8 %.47.i, 47
  br i1 %.53.i, label %B150.i, label %B312.i

B150.i:                                           ; preds = %B94.i
  %.60.i = icmp ult i8 %.47.i, 58
  br i1 %.60.i, label %B430, label %B494.i

B172.i:                                           ; preds = %B388
  %10 = add i8 %.28.i, -49
  %or.cond.i = icmp ult i8 %10, 9
  br i1 %or.cond.i, label %B236.i.preheader, label %B430

B236.i.preheader:                                 ; preds = %B172.i
  br label %B236.i

B236.i:                                           ; preds = %B292.i, %B236.i.preheader
  %i.10.0.i = phi i64 [ %11, %B292.i ], [ %spec.select.i, %B236.i.preheader ]
  %11 = add i64 %i.10.0.i, 1
  %.174.i = inttoptr i64 %11 to ptr
  %.175.i = load i8, ptr %.174.i, align 1, !noalias !134
  %.181.i = icmp ugt i8 %.175.i, 47
  br i1 %.181.i, label %B292.i, label %B312.i.loopexit

B292.i:                                           ; preds = %B236.i
  %.191.i = icmp ult i8 %.175.i, 58
  br i1 %.191.i, label %B236.i, label %B494.i

B312.i.loopexit:                                  ; preds = %B236.i
  %12 = add i64 %i.10.0.i, 1
  br label %B312.i

B312.i:                                           ; preds = %B312.i.loopexit, %B94.i
  %i.11.0.i = phi i64 [ %.39.i, %B94.i ], [ %12, %B312.i.loopexit ]
  %c.8.0.in.i = phi i8 [ %.47.i, %B94.i ], [ %.175.i, %B312.i.loopexit ]
  %.254.i = icmp eq i8 %c.8.0.in.i, 46
  br i1 %.254.i, label %B324.i, label %B388.endif

B324.i:                                           ; preds = %B312.i
  %.263.i = add nsw i64 %i.11.0.i, 1
  %.270.i = inttoptr i64 %.263.i to ptr
  %.271.i = load i8, ptr %.270.i, align 1, !noalias !134
  %13 = add i8 %.271.i, -58
  %or.cond213.i = icmp ult i8 %13, -10
  br i1 %or.cond213.i, label %B430, label %B424.i.preheader

B424.i.preheader:                                 ; preds = %B324.i
  br label %B424.i

B424.i:                                           ; preds = %B480.i, %B424.i.preheader
  %i.13.0.i = phi i64 [ %14, %B480.i ], [ %.263.i, %B424.i.preheader ]
  %14 = add i64 %i.13.0.i, 1
  %.343.i = inttoptr i64 %14 to ptr
  %.344.i = load i8, ptr %.343.i, align 1, !noalias !134
  %.350.i = icmp ugt i8 %.344.i, 47
  br i1 %.350.i, label %B480.i, label %B388.endif.loopexit153

B480.i:                                           ; preds = %B424.i
  %.360.i = icmp ult i8 %.344.i, 58
  br i1 %.360.i, label %B424.i, label %B494.i

B494.i:                                           ; preds = %B480.i, %B292.i, %B150.i
  %i.14.0.i = phi i64 [ %.39.i, %B150.i ], [ %14, %B480.i ], [ %11, %B292.i ]
  %c.10.0.i = phi i8 [ %.47.i, %B150.i ], [ %.344.i, %B480.i ], [ %.175.i, %B292.i ]
  %15 = zext i8 %c.10.0.i to i32
  switch i32 %15, label %B388.endif [
    i32 101, label %B518.i
    i32 69, label %B518.i
  ]

B518.i:                                           ; preds = %B494.i, %B494.i
  %.416.i = add nsw i64 %i.14.0.i, 1
  %.423.i = inttoptr i64 %.416.i to ptr
  %.424.i = load i8, ptr %.423.i, align 1, !noalias !134
  %16 = zext i8 %.424.i to i32
  switch i32 %16, label %B622.i [
    i32 43, label %B582.i
    i32 45, label %B582.i
  ]

B582.i:                                           ; preds = %B518.i, %B518.i
  %.448.i = add nsw i64 %i.14.0.i, 2
  %.453.i = inttoptr i64 %.448.i to ptr
  %.454.i = load i8, ptr %.453.i, align 1, !noalias !134
  br label %B622.i

B622.i:                                           ; preds = %B582.i, %B518.i
  %i.16.2.i = phi i64 [ %.448.i, %B582.i ], [ %.416.i, %B518.i ]
  %c.11.1.in.i = phi i8 [ %.454.i, %B582.i ], [ %.424.i, %B518.i ]
  %17 = add i8 %c.11.1.in.i, -58
  %or.cond214.i = icmp ult i8 %17, -10
  br i1 %or.cond214.i, label %B430, label %B682.i.preheader

B682.i.preheader:                                 ; preds = %B622.i
  br label %B682.i

B682.i:                                           ; preds = %B682.i, %B682.i.preheader
  %i.15.0.i = phi i64 [ %.511.i, %B682.i ], [ %i.16.2.i, %B682.i.preheader ]
  %.511.i = add i64 %i.15.0.i, 1
  %.518.i = inttoptr i64 %.511.i to ptr
  %.519.i = load i8, ptr %.518.i, align 1, !noalias !134
  %18 = add i8 %.519.i, -48
  %or.cond215.i = icmp ult i8 %18, 10
  br i1 %or.cond215.i, label %B682.i, label %B388.endif

B430:                                             ; preds = %B388.endif, %B622.i, %B324.i, %B172.i, %B150.i
  store i64 -1, ptr %retptr, align 8
  br label %common.ret

B436:                                             ; preds = %B356
  %19 = inttoptr i64 %i.13.1 to ptr
  %.9.i = load i64, ptr %19, align 1, !noalias !137
  %trunc.i = trunc i64 %.9.i to i32
  switch i32 %trunc.i, label %B80.i [
    i32 1702195828, label %B70.i
    i32 1819047278, label %B70.i
  ]

B70.i:                                            ; preds = %B436, %B436
  %.24.i = add nsw i64 %i.13.1, 4
  br label %B436.endif

B80.i:                                            ; preds = %B436
  %.30.i = and i64 %.9.i, 1099511627775
  %.33.i = icmp eq i64 %.30.i, 435728179558
  %.36.i = add nsw i64 %i.13.1, 5
  br i1 %.33.i, label %B436.endif, label %B478

B478:                                             ; preds = %B436.endif, %B80.i
  store i64 -1, ptr %retptr, align 8
  br label %common.ret

B482:                                             ; preds = %B436.endif, %B208
  %i.16.2 = phi i64 [ %.sink.i, %B436.endif ], [ %i.3.1.i, %B208 ]
  %depth.6.2 = phi i64 [ %depth.4.1, %B436.endif ], [ %.51, %B208 ]
  %objects.6.2 = phi i64 [ %objects.4.1, %B436.endif ], [ %.80, %B208 ]
  %20 = trunc i64 %.40 to i8
  %.445.not = icmp eq i8 %20, 123
  br i1 %.445.not, label %B696, label %B494.preheader

B494.preheader:                                   ; preds = %B388.endif, %B482, %B332, %B224
  %i.18.2.ph = phi i64 [ %i.16.2, %B482 ], [ %.187, %B224 ], [ %.263, %B332 ], [ %i.17.1.sink.i, %B388.endif ]
  %depth.7.2.ph = phi i64 [ %depth.6.2, %B482 ], [ %depth.4.1, %B224 ], [ %depth.4.1, %B332 ], [ %depth.4.1, %B388.endif ]
  %objects.7.2.ph = phi i64 [ %objects.6.2, %B482 ], [ %objects.4.1, %B224 ], [ %objects.4.1, %B332 ], [ %objects.4.1, %B388.endif ]
  br label %B494

B494:                                             ; preds = %B654, %B494.preheader
  %i.18.2 = phi i64 [ %.589, %B654 ], [ %i.18.2.ph, %B494.preheader ]
  %depth.7.2 = phi i64 [ %.577, %B654 ], [ %depth.7.2.ph, %B494.preheader ]
  %objects.7.2 = phi i64 [ %.583, %B654 ], [ %objects.7.2.ph, %B494.preheader ]
  %.459 = icmp eq i64 %depth.7.2, 0
  br i1 %.459, label %B506, label %B510

B506:                                             ; preds = %B494
  store i64 %i.18.2, ptr %retptr, align 8
  br label %common.ret

B510:                                             ; preds = %B494
  %.12.i1 = inttoptr i64 %i.18.2 to ptr
  %.13.i2 = load i8, ptr %.12.i1, align 1, !noalias !140
  %21 = zext i8 %.13.i2 to i32
  switch i32 %21, label %B510.endif [
    i32 32, label %B82.i4.preheader
    i32 10, label %B82.i4.preheader
    i32 13, label %B82.i4.preheader
    i32 9, label %B82.i4.preheader
  ]

B82.i4.preheader:                                 ; preds = %B510, %B510, %B510, %B510
  %22 = add i64 %i.18.2, 1
  br label %B82.i4

B82.i4:                                           ; preds = %B82.i4.backedge, %B82.i4.preheader
  %lsr.iv157 = phi i64 [ %lsr.iv.next, %B82.i4.backedge ], [ %22, %B82.i4.preheader ]
  %.61.i6 = inttoptr i64 %lsr.iv157 to ptr
  %.62.i7 = load i8, ptr %.61.i6, align 1, !noalias !140
  %23 = zext i8 %.62.i7 to i32
  switch i32 %23, label %B510.endif.loopexit [
    i32 32, label %B82.i4.backedge
    i32 10, label %B82.i4.backedge
    i32 13, label %B82.i4.backedge
    i32 9, label %B82.i4.backedge
  ]

B82.i4.backedge:                                  ; preds = %B82.i4, %B82.i4, %B82.i4, %B82.i4
  %lsr.iv.next = add i64 %lsr.iv157, 1
  br label %B82.i4

B582:                                             ; preds = %B510.endif
  %.527 = add nsw i64 %i.3.1.i11, 1
  %.12.i13 = inttoptr i64 %.527 to ptr
  %.13.i14 = load i8, ptr %.12.i13, align 1, !noalias !143
  %24 = zext i8 %.13.i14 to i32
  switch i32 %24, label %B696 [
    i32 32, label %B82.preheader.i15
    i32 10, label %B82.preheader.i15
    i32 13, label %B82.preheader.i15
    i32 9, label %B82.preheader.i15
  ]

B82.preheader.i15:                                ; preds = %B582, %B582, %B582, %B582
  %25 = add i64 %i.3.1.i11, 2
  br label %B82.i16

B82.i16:                                          ; preds = %B82.backedge.i20, %B82.preheader.i15
  %lsr.iv.i17 = phi i64 [ %lsr.iv.next.i21, %B82.backedge.i20 ], [ %25, %B82.preheader.i15 ]
  %.61.i18 = inttoptr i64 %lsr.iv.i17 to ptr
  %.62.i19 = load i8, ptr %.61.i18, align 1, !noalias !143
  %26 = zext i8 %.62.i19 to i32
  switch i32 %26, label %B696.loopexit [
    i32 32, label %B82.backedge.i20
    i32 10, label %B82.backedge.i20
    i32 13, label %B82.backedge.i20
    i32 9, label %B82.backedge.i20
  ]

B82.backedge.i20:                                 ; preds = %B82.i16, %B82.i16, %B82.i16, %B82.i16
  %lsr.iv.next.i21 = add i64 %lsr.iv.i17, 1
  br label %B82.i16

B620:                                             ; preds = %B510.endif
  %.506 = zext i8 %.505 to i64
  %.558 = shl i64 %objects.7.2, 5
  %.559 = and i64 %.558, 32
  %.560 = or disjoint i64 %.559, 93
  %.562.not = icmp eq i64 %.560, %.506
  br i1 %.562.not, label %B654, label %B650

B650:                                             ; preds = %B620
  store i64 -1, ptr %retptr, align 8
  br label %common.ret

B654:                                             ; preds = %B620
  %.577 = add nsw i64 %depth.7.2, -1
  %.583 = ashr i64 %objects.7.2, 1
  %.589 = add nsw i64 %i.3.1.i11, 1
  %.597.not = icmp eq i8 %.505, 123
  br i1 %.597.not, label %B696, label %B494

B696.loopexit:                                    ; preds = %B82.i16
  br label %B696

B696:                                             ; preds = %B696.loopexit, %B654, %B582, %B482
  %i.15.3 = phi i64 [ %i.16.2, %B482 ], [ %lsr.iv.i17, %B696.loopexit ], [ %.527, %B582 ], [ %.589, %B654 ]
  %depth.5.3 = phi i64 [ %depth.6.2, %B482 ], [ %depth.7.2, %B696.loopexit ], [ %depth.7.2, %B582 ], [ %.577, %B654 ]
  %objects.5.3 = phi i64 [ %objects.6.2, %B482 ], [ %objects.7.2, %B696.loopexit ], [ %objects.7.2, %B582 ], [ %.583, %B654 ]
  %.617 = and i64 %objects.5.3, 1
  %.618.not = icmp eq i64 %.617, 0
  br i1 %.618.not, label %B14, label %B706

B706:                                             ; preds = %B696
  %.623 = inttoptr i64 %i.15.3 to ptr
  %.624 = load i8, ptr %.623, align 1
  %.626.not = icmp eq i8 %.624, 34
  br i1 %.626.not, label %B748, label %B744

B744:                                             ; preds = %B706
  store i64 -1, ptr %retptr, align 8
  br label %common.ret

B748:                                             ; preds = %B706
  %.640 = add nsw i64 %i.15.3, 1
  store i64 0, ptr %.644, align 8
  %.648 = call i32 @f1(ptr nonnull %.644, ptr nonnull %excinfo.7, i64 %.640, i64 %arg.n)
  %cond = icmp eq i32 %.648, 0
  br i1 %cond, label %B748.endif, label %B748.if, !prof !20

B804:                                             ; preds = %B748.endif
  store i64 -1, ptr %retptr, align 8
  br label %common.ret

B808:                                             ; preds = %B748.endif
  %.687 = add nuw nsw i64 %.668, 1
  %.12.i25 = inttoptr i64 %.687 to ptr
  %.13.i26 = load i8, ptr %.12.i25, align 1, !noalias !146
  %27 = zext i8 %.13.i26 to i32
  switch i32 %27, label %B808.endif [
    i32 32, label %B82.preheader.i27
    i32 10, label %B82.preheader.i27
    i32 13, label %B82.preheader.i27
    i32 9, label %B82.preheader.i27
  ]

B82.preheader.i27:                                ; preds = %B808, %B808, %B808, %B808
  %28 = add nuw nsw i64 %.668, 2
  br label %B82.i28

B82.i28:                                          ; preds = %B82.backedge.i32, %B82.preheader.i27
  %lsr.iv.i29 = phi i64 [ %lsr.iv.next.i33, %B82.backedge.i32 ], [ %28, %B82.preheader.i27 ]
  %.61.i30 = inttoptr i64 %lsr.iv.i29 to ptr
  %.62.i31 = load i8, ptr %.61.i30, align 1, !noalias !146
  %29 = zext i8 %.62.i31 to i32
  switch i32 %29, label %B808.endif.loopexit [
    i32 32, label %B82.backedge.i32
    i32 10, label %B82.backedge.i32
    i32 13, label %B82.backedge.i32
    i32 9, label %B82.backedge.i32
  ]

B82.backedge.i32:                                 ; preds = %B82.i28, %B82.i28, %B82.i28, %B82.i28
  %lsr.iv.next.i33 = add i64 %lsr.iv.i29, 1
  br label %B82.i28

B882:                                             ; preds = %B808.endif
  store i64 -1, ptr %retptr, align 8
  br label %common.ret

B886:                                             ; preds = %B808.endif
  %.735 = add nsw i64 %i.3.1.i35, 1
  %.12.i37 = inttoptr i64 %.735 to ptr
  %.13.i38 = load i8, ptr %.12.i37, align 1, !noalias !149
  %30 = zext i8 %.13.i38 to i32
  switch i32 %30, label %B14 [
    i32 32, label %B82.preheader.i39
    i32 10, label %B82.preheader.i39
    i32 13, label %B82.preheader.i39
    i32 9, label %B82.preheader.i39
  ]

B82.preheader.i39:                                ; preds = %B886, %B886, %B886, %B886
  %31 = add i64 %i.3.1.i35, 2
  br label %B82.i40

B82.i40:                                          ; preds = %B82.backedge.i44, %B82.preheader.i39
  %lsr.iv.i41 = phi i64 [ %lsr.iv.next.i45, %B82.backedge.i44 ], [ %31, %B82.preheader.i39 ]
  %.61.i42 = inttoptr i64 %lsr.iv.i41 to ptr
  %.62.i43 = load i8, ptr %.61.i42, align 1, !noalias !149
  %32 = zext i8 %.62.i43 to i32
  switch i32 %32, label %B14.backedge.loopexit [
    i32 32, label %B82.backedge.i44
    i32 10, label %B82.backedge.i44
    i32 13, label %B82.backedge.i44
    i32 9, label %B82.backedge.i44
  ]

B82.backedge.i44:                                 ; preds = %B82.i40, %B82.i40, %B82.i40, %B82.i40
  %lsr.iv.next.i45 = add i64 %lsr.iv.i41, 1
  br label %B82.i40

B104.endif.loopexit:                              ; preds = %B82.i
  br label %B104.endif

B104.endif:                                       ; preds = %B104.endif.loopexit, %B104
  %.120 = phi i8 [ %.13.i, %B104 ], [ %.62.i, %B104.endif.loopexit ]
  %i.3.1.i = phi i64 [ %.86, %B104 ], [ %lsr.iv.i, %B104.endif.loopexit ]
  %.121 = zext i8 %.120 to i64
  %.123 = add nuw nsw i64 %.40, 2
  %.124.not = icmp eq i64 %.123, %.121
  br i1 %.124.not, label %B224, label %B208

B272.if:                                          ; preds = %B272
  store ptr null, ptr %excinfo, align 8
  br label %common.ret

B272.endif:                                       ; preds = %B272
  %.218 = load i64, ptr %.204, align 8
  %.228 = ashr i64 %.218, 3
  %.233 = icmp slt i64 %.228, 0
  br i1 %.233, label %B328, label %B332

B388.endif.loopexit153:                           ; preds = %B424.i
  %33 = add i64 %i.13.0.i, 1
  br label %B388.endif

B388.endif:                                       ; preds = %B388.endif.loopexit153, %B682.i, %B494.i, %B312.i
  %i.17.1.sink.i = phi i64 [ %i.14.0.i, %B494.i ], [ %i.11.0.i, %B312.i ], [ %33, %B388.endif.loopexit153 ], [ %.511.i, %B682.i ]
  %.320 = icmp slt i64 %i.17.1.sink.i, 0
  br i1 %.320, label %B430, label %B494.preheader

B436.endif:                                       ; preds = %B80.i, %B70.i
  %.sink.i = phi i64 [ %.24.i, %B70.i ], [ %.36.i, %B80.i ]
  %.400 = icmp slt i64 %.sink.i, 0
  br i1 %.400, label %B478, label %B482

B510.endif.loopexit:                              ; preds = %B82.i4
  br label %B510.endif

B510.endif:                                       ; preds = %B510.endif.loopexit, %B510
  %.505 = phi i8 [ %.13.i2, %B510 ], [ %.62.i7, %B510.endif.loopexit ]
  %i.3.1.i11 = phi i64 [ %i.18.2, %B510 ], [ %lsr.iv157, %B510.endif.loopexit ]
  %.511 = icmp eq i8 %.505, 44
  br i1 %.511, label %B582, label %B620

B748.if:                                          ; preds = %B748
  store ptr null, ptr %excinfo, align 8
  br label %common.ret

B748.endif:                                       ; preds = %B748
  %.658 = load i64, ptr %.644, align 8
  %.668 = ashr i64 %.658, 3
  %.673 = icmp slt i64 %.668, 0
  br i1 %.673, label %B804, label %B808

B808.endif.loopexit:                              ; preds = %B82.i28
  br label %B808.endif

B808.endif:                                       ; preds = %B808.endif.loopexit, %B808
  %.719 = phi i8 [ %.13.i26, %B808 ], [ %.62.i31, %B808.endif.loopexit ]
  %i.3.1.i35 = phi i64 [ %.687, %B808 ], [ %lsr.iv.i29, %B808.endif.loopexit ]
  %.721.not = icmp eq i8 %.719, 58
  br i1 %.721.not, label %B886, label %B882
}

declare i64 @llvm.cttz.i64(i64, i1 immarg)


!0 = !{!1}
!1 = distinct !{!1, !2, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!2 = distinct !{!2, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!3 = !{!4}
!4 = distinct !{!4, !5, !"_ZN9tracelens10collectors5torch4fast8scanning7rebuildB2v3B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dEx: %retptr"}
!5 = distinct !{!5, !"_ZN9tracelens10collectors5torch4fast8scanning7rebuildB2v3B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dEx"}
!6 = distinct !{!6, !7}
!7 = !{!"llvm.loop.unroll.disable"}
!8 = !{!9}
!9 = distinct !{!9, !10, !"_ZN9tracelens10collectors5torch4fast8scanning7rebuildB2v3B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dEx: %retptr"}
!10 = distinct !{!10, !"_ZN9tracelens10collectors5torch4fast8scanning7rebuildB2v3B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dEx"}
!11 = !{!12}
!12 = distinct !{!12, !13, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!13 = distinct !{!13, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!14 = !{!15}
!15 = distinct !{!15, !16, !"_ZN9tracelens10collectors5torch4fast7kernels8find_keyB2v5B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxxx: %retptr"}
!16 = distinct !{!16, !"_ZN9tracelens10collectors5torch4fast7kernels8find_keyB2v5B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxxx"}
!17 = !{!18, !15}
!18 = distinct !{!18, !19, !"_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx: %retptr"}
!19 = distinct !{!19, !"_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx"}
!20 = !{!"branch_weights", i32 49, i32 1}
!21 = !{!22}
!22 = distinct !{!22, !23, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!23 = distinct !{!23, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!24 = !{!25}
!25 = distinct !{!25, !26, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!26 = distinct !{!26, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!27 = !{!28}
!28 = distinct !{!28, !29, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!29 = distinct !{!29, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!30 = !{!31}
!31 = distinct !{!31, !32, !"_ZN9tracelens10collectors5torch4fast8scanning8word_endB3v11B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!32 = distinct !{!32, !"_ZN9tracelens10collectors5torch4fast8scanning8word_endB3v11B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!33 = !{!34}
!34 = distinct !{!34, !35, !"_ZN9tracelens10collectors5torch4fast8scanning8word_endB3v11B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!35 = distinct !{!35, !"_ZN9tracelens10collectors5torch4fast8scanning8word_endB3v11B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!36 = !{!37}
!37 = distinct !{!37, !38, !"_ZN9tracelens10collectors5torch4fast8scanning7is_utf8B3v12B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dExx: %retptr"}
!38 = distinct !{!38, !"_ZN9tracelens10collectors5torch4fast8scanning7is_utf8B3v12B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dExx"}
!39 = distinct !{!39, !40}
!40 = !{!"llvm.loop.peeled.count", i32 1}
!41 = !{!42}
!42 = distinct !{!42, !43, !"_ZN9tracelens10collectors5torch4fast8scanning6digitsB3v13B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx: %retptr"}
!43 = distinct !{!43, !"_ZN9tracelens10collectors5torch4fast8scanning6digitsB3v13B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx"}
!44 = !{!45}
!45 = distinct !{!45, !46, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!46 = distinct !{!46, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!47 = !{!48}
!48 = distinct !{!48, !49, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!49 = distinct !{!49, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!50 = !{!51}
!51 = distinct !{!51, !52, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!52 = distinct !{!52, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!53 = !{!54}
!54 = distinct !{!54, !55, !"_ZN9tracelens10collectors5torch4fast8scanning6digitsB3v13B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx: %retptr"}
!55 = distinct !{!55, !"_ZN9tracelens10collectors5torch4fast8scanning6digitsB3v13B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx"}
!56 = !{!57}
!57 = distinct !{!57, !58, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!58 = distinct !{!58, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!59 = !{!60}
!60 = distinct !{!60, !61, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!61 = distinct !{!61, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!62 = !{!63}
!63 = distinct !{!63, !64, !"_ZN9tracelens10collectors5torch4fast8scanning6digitsB3v13B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx: %retptr"}
!64 = distinct !{!64, !"_ZN9tracelens10collectors5torch4fast8scanning6digitsB3v13B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx"}
!65 = !{!66}
!66 = distinct !{!66, !67, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!67 = distinct !{!67, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!68 = !{!69}
!69 = distinct !{!69, !70, !"_ZN9tracelens10collectors5torch4fast8scanning6digitsB3v13B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx: %retptr"}
!70 = distinct !{!70, !"_ZN9tracelens10collectors5torch4fast8scanning6digitsB3v13B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx"}
!71 = !{!72}
!72 = distinct !{!72, !73, !"_ZN9tracelens10collectors5torch4fast8scanning6digitsB3v13B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx: %retptr"}
!73 = distinct !{!73, !"_ZN9tracelens10collectors5torch4fast8scanning6digitsB3v13B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx"}
!74 = !{!"branch_weights", i32 1, i32 99}
!75 = !{!76}
!76 = distinct !{!76, !77, !"_ZN9tracelens10collectors5torch4fast8scanning6digitsB3v13B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx: %retptr"}
!77 = distinct !{!77, !"_ZN9tracelens10collectors5torch4fast8scanning6digitsB3v13B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx"}
!78 = !{!79}
!79 = distinct !{!79, !80, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!80 = distinct !{!80, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!81 = !{!82}
!82 = distinct !{!82, !83, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!83 = distinct !{!83, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!84 = !{!85}
!85 = distinct !{!85, !86, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!86 = distinct !{!86, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!87 = !{!88}
!88 = distinct !{!88, !89, !"_ZN9tracelens10collectors5torch4fast7kernels8table_ofB3v14B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx: %retptr"}
!89 = distinct !{!89, !"_ZN9tracelens10collectors5torch4fast7kernels8table_ofB3v14B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx"}
!90 = !{!91, !88}
!91 = distinct !{!91, !92, !"_ZN9tracelens10collectors5torch4fast7kernels8find_keyB3v15B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx23Literal_5bint_5d_282_29: %retptr"}
!92 = distinct !{!92, !"_ZN9tracelens10collectors5torch4fast7kernels8find_keyB3v15B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx23Literal_5bint_5d_282_29"}
!93 = !{!94, !91, !88}
!94 = distinct !{!94, !95, !"_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx: %retptr"}
!95 = distinct !{!95, !"_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx"}
!96 = !{!97}
!97 = distinct !{!97, !98, !"_ZN9tracelens10collectors5torch4fast7kernels5placeB3v16B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx: %retptr"}
!98 = distinct !{!98, !"_ZN9tracelens10collectors5torch4fast7kernels5placeB3v16B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx"}
!99 = !{!100, !97}
!100 = distinct !{!100, !101, !"_ZN9tracelens10collectors5torch4fast8scanning6internB3v17B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx: %retptr"}
!101 = distinct !{!101, !"_ZN9tracelens10collectors5torch4fast8scanning6internB3v17B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx"}
!102 = !{!103, !100, !97}
!103 = distinct !{!103, !104, !"_ZN9tracelens10collectors5torch4fast8scanning6hashedB3v18B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx: %retptr"}
!104 = distinct !{!104, !"_ZN9tracelens10collectors5torch4fast8scanning6hashedB3v18B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx"}
!105 = !{!106, !100, !97}
!106 = distinct !{!106, !107, !"_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx: %retptr"}
!107 = distinct !{!107, !"_ZN9tracelens10collectors5torch4fast8scanning4sameB2v6B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx"}
!108 = distinct !{!108, !7}
!109 = !{!110, !97}
!110 = distinct !{!110, !111, !"_ZN9tracelens10collectors5torch4fast8scanning6internB3v19B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx23Literal_5bint_5d_280_29x: %retptr"}
!111 = distinct !{!111, !"_ZN9tracelens10collectors5torch4fast8scanning6internB3v19B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx23Literal_5bint_5d_280_29x"}
!112 = !{!113}
!113 = distinct !{!113, !114, !"_ZN9tracelens10collectors5torch4fast7kernels6refuseB3v22B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx: %retptr"}
!114 = distinct !{!114, !"_ZN9tracelens10collectors5torch4fast7kernels6refuseB3v22B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx"}
!115 = !{!116}
!116 = distinct !{!116, !117, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!117 = distinct !{!117, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!118 = !{!119}
!119 = distinct !{!119, !120, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!120 = distinct !{!120, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!121 = !{!122}
!122 = distinct !{!122, !123, !"_ZN9tracelens10collectors5torch4fast8scanning6digitsB3v13B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx: %retptr"}
!123 = distinct !{!123, !"_ZN9tracelens10collectors5torch4fast8scanning6digitsB3v13B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExx"}
!124 = !{!"branch_weights", i32 99, i32 1}
!125 = !{!126}
!126 = distinct !{!126, !127, !"_ZN9tracelens10collectors5torch4fast8scanning4hex4B2v8B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!127 = distinct !{!127, !"_ZN9tracelens10collectors5torch4fast8scanning4hex4B2v8B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!128 = !{!129}
!129 = distinct !{!129, !130, !"_ZN9tracelens10collectors5torch4fast8scanning4hex4B2v8B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!130 = distinct !{!130, !"_ZN9tracelens10collectors5torch4fast8scanning4hex4B2v8B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!131 = !{!132}
!132 = distinct !{!132, !133, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!133 = distinct !{!133, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!134 = !{!135}
!135 = distinct !{!135, !136, !"_ZN9tracelens10collectors5torch4fast8scanning10number_endB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dEx: %retptr"}
!136 = distinct !{!136, !"_ZN9tracelens10collectors5torch4fast8scanning10number_endB3v10B56c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsBAK4JJIqUWsIgmAA_3d_3dEx"}
!137 = !{!138}
!138 = distinct !{!138, !139, !"_ZN9tracelens10collectors5torch4fast8scanning8word_endB3v11B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!139 = distinct !{!139, !"_ZN9tracelens10collectors5torch4fast8scanning8word_endB3v11B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!140 = !{!141}
!141 = distinct !{!141, !142, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!142 = distinct !{!142, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!143 = !{!144}
!144 = distinct !{!144, !145, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!145 = distinct !{!145, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!146 = !{!147}
!147 = distinct !{!147, !148, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!148 = distinct !{!148, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!149 = !{!150}
!150 = distinct !{!150, !151, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!151 = distinct !{!151, !"_ZN9tracelens10collectors5torch4fast8scanning5spaceB2v2B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
